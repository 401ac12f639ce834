#include "system/file_system.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "system/file_descriptor.h"

namespace mgtune {
namespace {

Status errno_status(const char* action, const std::string& path, int error) {
  const StatusCode code = error == ENOENT ? StatusCode::not_found : StatusCode::io;
  return {code, std::string("cannot ") + action + " " + path + ": " + std::strerror(error)};
}

// A new file that only this user may read: `name` with six letters or digits appended, as
// mkostemp(3) does, in an open folder.
FileDescriptor create_beside(int folder, std::string& name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const std::size_t bytes = name.size();
  std::array<unsigned char, 6> drawn;
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::getrandom(drawn.data(), drawn.size(), 0) != std::ssize(drawn)) return {};
    name.resize(bytes);
    name += '.';
    for (const unsigned char number : drawn) name += kLetters[number % kLetters.size()];
    FileDescriptor file(
        ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.is_open() || errno != EEXIST) return file;
  }
  return {};
}

class RealFileSystem final : public FileSystem {
 public:
  Result<std::string> read_file(const std::string& path) override {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return errno_status("read", path, errno);
    std::string content;
    if (!read_all(file.get(), content)) return errno_status("read", path, errno);
    return content;
  }

  Status write_file(const std::string& path, std::string_view content) override {
    MGTUNE_TRY(replace(AT_FDCWD, path, path, content, true));
    const std::string parent = std::filesystem::path(path).parent_path().string();
    const FileDescriptor folder(
        ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0 && ::fsync(folder.get()) != 0 && errno != EINVAL) {
      return errno_status("sync folder", parent, errno);
    }
    return {};
  }

  Status write_file_unsynced(int folder, const std::string& path,
                             std::string_view content) override {
    return replace(folder, path.substr(path.rfind('/') + 1), path, content, false);
  }

  Status create_directories(const std::string& path, unsigned mode) override {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty() && !is_directory(parent)) MGTUNE_TRY(create_directories(parent, mode));
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
      return errno_status("create folder", path, errno);
    }
    return {};
  }

  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_status("remove", path, errno);
    return {};
  }

  bool is_directory(const std::string& path) override {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  Result<std::vector<std::string>> list_files(const std::string& directory) override {
    std::error_code error;
    std::vector<std::string> files;
    std::filesystem::recursive_directory_iterator walk(directory, error);
    for (; !error && walk != std::filesystem::recursive_directory_iterator();
         walk.increment(error)) {
      if (walk->is_symlink(error) || !walk->is_regular_file(error)) continue;
      files.push_back(walk->path().lexically_relative(directory).string());
    }
    if (error) return errno_status("list", directory, error.value());
    std::ranges::sort(files);
    return files;
  }

 private:
  // `path` is the name that messages use for the file `name` in `folder`.
  static Status replace(int folder, const std::string& name, const std::string& path,
                        std::string_view content, bool sync) {
    std::string temporary = name;
    FileDescriptor file = create_beside(folder, temporary);
    if (!file.is_open()) return errno_status("create", path, errno);
    Status status = fill(file, path, content, sync);
    if (status.ok() && ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) {
      status = errno_status("write", path, errno);
    }
    if (!status.ok()) ::unlinkat(folder, temporary.c_str(), 0);
    return status;
  }

  static Status fill(FileDescriptor& file, const std::string& path, std::string_view content,
                     bool sync) {
    if (!write_all(file.get(), content)) return errno_status("write", path, errno);
    if (sync && ::fsync(file.get()) != 0) return errno_status("sync", path, errno);
    if (file.close() != 0) return errno_status("close", path, errno);
    return {};
  }
};

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
void keep_permissions(const std::string& path, bool was_there, const struct stat& before) {
  struct stat now {};
  const bool is_same_owner = was_there && ::stat(path.c_str(), &now) == 0 &&
                             now.st_uid == before.st_uid && now.st_gid == before.st_gid;
  const bool is_kept =
      is_same_owner || (was_there && ::chown(path.c_str(), before.st_uid, before.st_gid) == 0);
  ::chmod(path.c_str(), is_kept ? before.st_mode & 0777 : mode_of_new_files());
}

}  // namespace

FileSystem& FileSystem::real() {
  static RealFileSystem file_system;
  return file_system;
}

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
  keep_permissions(path, was_there, before);
  return {};
}

}  // namespace mgtune
