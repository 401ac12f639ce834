#include "system/output_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "system/file_system.h"

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

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// Gives a new file the owner and the mode of the one that it replaced. If the owner cannot be kept,
// the mode is that of a new file, so that the old owner can still read it.
void take_over_permissions(const std::string& path, bool was_there, const struct stat& before) {
  struct stat now {};
  const bool is_same_owner = was_there && ::stat(path.c_str(), &now) == 0 &&
                             now.st_uid == before.st_uid && now.st_gid == before.st_gid;
  const bool is_kept =
      is_same_owner || (was_there && ::chown(path.c_str(), before.st_uid, before.st_gid) == 0);
  ::chmod(path.c_str(), is_kept ? before.st_mode & 0777 : mode_of_new_files());
}

}  // namespace

Status write_output(const std::string& path, std::string_view what, std::string_view content) {
  std::error_code none;
  const auto there = std::filesystem::symlink_status(path, none);
  // Only regular files are read: reading a pipe (/dev/stdout may be one) would wait for ever.
  if (std::filesystem::is_regular_file(path, none) && is_database(path)) {
    return invalid_argument(path + " is a database; " + std::string(what) + " would replace it");
  }
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return write_over(path, content);
  }
  struct stat before {};
  const bool was_there = ::stat(path.c_str(), &before) == 0;
  MGTUNE_TRY(FileSystem::real().write_file(path, content));
  take_over_permissions(path, was_there, before);
  return {};
}

}  // namespace mgtune
