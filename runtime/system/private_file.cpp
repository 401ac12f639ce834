#include "system/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "system/descriptor_io.h"
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

Status check_directory(const std::string& directory, int fd) {
  if (fd < 0) return open_failure(directory, errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return open_failure(directory, errno);
  return check_owner(directory, info);
}

int open_directory(const std::string& directory) {
  return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

struct OpenedFile {
  FileDescriptor descriptor;
  std::size_t bytes = 0;
};

Result<OpenedFile> open_private_file(const std::string& directory, const std::string& name,
                                     const std::string& path) {
  const FileDescriptor folder(open_directory(directory));
  MGTUNE_TRY(check_directory(directory, folder.get()));
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  FileDescriptor file(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return open_failure(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return open_failure(path, errno);
  if (!S_ISREG(info.st_mode)) return refuse(path, "is not a regular file");
  MGTUNE_TRY(check_owner(path, info));
  return OpenedFile{std::move(file), static_cast<std::size_t>(info.st_size)};
}

Result<std::string> read_start(const OpenedFile& file, const std::string& path, std::size_t bytes) {
  std::string content;
  content.reserve(bytes);
  if (!read_all(file.descriptor.get(), content, bytes)) return open_failure(path, errno);
  return content;
}

}  // namespace

Status check_private_directory(const std::string& directory) {
  return PrivateDirectory::open(directory).status();
}

Result<PrivateDirectory> PrivateDirectory::open(const std::string& directory) {
  FileDescriptor folder(open_directory(directory));
  MGTUNE_TRY(check_directory(directory, folder.get()));
  return PrivateDirectory(std::move(folder));
}

Result<std::string> read_private_file(const std::string& directory, const std::string& name,
                                      std::size_t max_bytes) {
  const std::string path = directory + "/" + name;
  MGTUNE_ASSIGN(const OpenedFile file, open_private_file(directory, name, path));
  if (file.bytes > max_bytes) return refuse(path, "is too large");
  return read_start(file, path, file.bytes);
}

Result<std::string> read_private_file_start(const std::string& directory, const std::string& name,
                                            std::size_t bytes) {
  const std::string path = directory + "/" + name;
  MGTUNE_ASSIGN(const OpenedFile file, open_private_file(directory, name, path));
  return read_start(file, path, std::min(file.bytes, bytes));
}

}  // namespace mgtune
