#include "system/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

Result<std::string> read_private_file(const std::string& directory, const std::string& name,
                                      std::size_t max_bytes) {
  return read_checked(directory, name, max_bytes, true);
}

Result<std::string> read_private_file_start(const std::string& directory, const std::string& name,
                                            std::size_t bytes) {
  return read_checked(directory, name, bytes, false);
}

}  // namespace mgtune
