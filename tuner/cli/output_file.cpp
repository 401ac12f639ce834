#include "cli/output_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/file_system.h"

namespace mgtune {
namespace {

bool is_database(const std::string& path) {
  constexpr std::string_view kDatabase = "SQLite format 3";
  std::string start(kDatabase.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), std::streamsize(start.size())) && start == kDatabase;
}

Status write_over(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (file) return {};
  return io_error("cannot write " + path + ": " + std::strerror(errno));
}

// Of the file that is replaced; of a new one what the umask leaves.
mode_t mode_of(const std::filesystem::file_status& there) {
  if (std::filesystem::exists(there)) return static_cast<mode_t>(there.permissions()) & 0777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Status write_output(const std::string& path, std::string_view what, std::string_view content) {
  std::error_code none;
  const auto there = std::filesystem::symlink_status(path, none);
  // Reading a pipe (/dev/stdout may be one) would wait for what only this process writes.
  if (std::filesystem::is_regular_file(path, none) && is_database(path)) {
    return invalid_argument(path + " is a database; " + std::string(what) + " would replace it");
  }
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return write_over(path, content);
  }
  const mode_t mode = mode_of(there);
  MGTUNE_TRY(FileSystem::real().write_file(path, content));
  ::chmod(path.c_str(), mode);  // what is not allowed here stays the owner's
  return {};
}

}  // namespace mgtune
