#include "build/temporary_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace mgtune {

Result<TemporaryFolder> TemporaryFolder::create() {
  const char* const parent = std::getenv("TMPDIR");
  std::string path = parent != nullptr && *parent != '\0' ? parent : "/tmp";
  path += "/mgtune-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return io_error("cannot create " + path + ": " + std::strerror(errno));
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, std::string());
  }
  return *this;
}

TemporaryFolder::~TemporaryFolder() { remove(); }

void TemporaryFolder::remove() noexcept {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status TemporaryFolder::write(const std::string& name, std::string_view content) const {
  const std::filesystem::path relative(name);
  if (relative.is_absolute() || !relative.has_filename() ||
      std::ranges::count(relative, "..") > 0) {
    return invalid_argument("not a file below its folder: '" + name + "'");
  }
  const std::filesystem::path path = std::filesystem::path(path_) / relative;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error)
    return io_error("cannot create " + path.parent_path().string() + ": " + error.message());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) return io_error("cannot write " + path.string() + ": " + std::strerror(errno));
  return Status();
}

}  // namespace mgtune
