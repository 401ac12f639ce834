#include "system/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "system/file_descriptor.h"

namespace mgtune {
namespace {

constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

Status refuse(const std::string& path, const char* why) { return corrupt(path + " " + why); }

Status check_owner(const std::string& path, const struct stat& info) {
  if (info.st_uid != ::geteuid()) return refuse(path, "belongs to another user");
  if ((info.st_mode & kWritableByOthers) != 0) return refuse(path, "can be written by other users");
  return {};
}

Status open_failure(const std::string& path, int error) {
  const std::string message = "cannot read " + path + ": " + std::strerror(error);
  if (error == ENOENT) return not_found(message);
  if (error == ELOOP || error == ENOTDIR) return corrupt(message);
  return io_error(message);
}

// At most the first `bytes` of the file. If it is wanted `whole`, it must not be larger.
Result<std::string> read_checked(const std::string& directory, const std::string& name,
                                 std::size_t bytes, bool whole) {
  const std::string path = directory + "/" + name;
  MGTUNE_ASSIGN(const FileDescriptor folder, open_private_directory(directory));
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  const FileDescriptor file(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return open_failure(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return open_failure(path, errno);
  if (!S_ISREG(info.st_mode)) return refuse(path, "is not a regular file");
  MGTUNE_TRY(check_owner(path, info));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (whole && size > bytes) return refuse(path, "is too large");
  std::string content;
  content.reserve(std::min(size, bytes));
  if (!read_all(file.get(), content, std::min(size, bytes))) return open_failure(path, errno);
  return content;
}

}  // namespace

Result<FileDescriptor> open_private_directory(const std::string& directory) {
  FileDescriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return open_failure(directory, errno);
  struct stat info {};
  if (::fstat(folder.get(), &info) != 0) return open_failure(directory, errno);
  MGTUNE_TRY(check_owner(directory, info));
  return folder;
}

Status check_trusted_file(int folder, const std::string& name, int file, const std::string& path) {
  struct stat of_folder {};
  struct stat of_name {};
  struct stat of_file {};
  if (::fstat(folder, &of_folder) != 0 || ::fstat(file, &of_file) != 0 ||
      ::fstatat(folder, name.c_str(), &of_name, AT_SYMLINK_NOFOLLOW) != 0) {
    return open_failure(path, errno);
  }
  if (!S_ISREG(of_name.st_mode) || of_name.st_dev != of_file.st_dev ||
      of_name.st_ino != of_file.st_ino) {
    return refuse(path, "is a link, and holds code; name the file that it leads to");
  }
  for (const auto& [state, what] :
       {std::pair(&of_file, ""), std::pair(&of_folder, "the folder of ")}) {
    const bool is_folder = state == &of_folder;
    if (state->st_uid != ::geteuid() && state->st_uid != 0) {
      return refuse(what + path, "belongs to another user, and the file holds code; copy it");
    }
    const bool is_safe =
        (state->st_mode & kWritableByOthers) == 0 || (is_folder && (state->st_mode & S_ISVTX) != 0);
    if (!is_safe) {
      return refuse(
          what + path,
          "can be written by other users, and the file holds code; 'chmod go-w' ends that");
    }
  }
  return {};
}

Result<std::string> read_private_file(const std::string& directory, const std::string& name,
                                      std::size_t max_bytes) {
  return read_checked(directory, name, max_bytes, true);
}

Result<std::string> read_private_file_start(const std::string& directory, const std::string& name,
                                            std::size_t bytes) {
  return read_checked(directory, name, bytes, false);
}

}  // namespace mgtune
