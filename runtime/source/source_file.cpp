#include "source/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "pack/pack.h"
#include "system/file_descriptor.h"
#include "system/private_file.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxTableBytes = std::size_t{64} << 20U;
constexpr std::size_t kMaxPackBytes = std::size_t{1} << 30U;

Status failure(const std::string& path, int error) {
  const std::string message = "cannot read " + path + ": " + std::strerror(error);
  return error == ENOENT ? not_found(message) : io_error(message);
}

SourceFile::Kind kind_of(std::string_view start) {
  if (is_pack(start)) return SourceFile::Kind::pack;
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && start[first] == '{';
  return is_json ? SourceFile::Kind::table : SourceFile::Kind::database;
}

}  // namespace

Result<SourceFile> read_source_file(const std::string& path) {
  SourceFile file;
  const std::filesystem::path parts(path);
  const std::string parent = parts.has_parent_path() ? parts.parent_path().string() : ".";
  const FileDescriptor folder(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return failure(path, errno);
  const std::string name = parts.filename().string();
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  const FileDescriptor descriptor(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (descriptor.get() < 0) return failure(path, errno);
  struct stat info {};
  if (::fstat(descriptor.get(), &info) != 0) return failure(path, errno);
  if (!S_ISREG(info.st_mode)) return file;
  std::array<char, 64> start{};
  const ssize_t got = ::pread(descriptor.get(), start.data(), start.size(), 0);
  if (got < 0) return failure(path, errno);
  file.kind = kind_of({start.data(), static_cast<std::size_t>(got)});
  if (file.kind == SourceFile::Kind::database) return file;
  const bool is_a_pack = file.kind == SourceFile::Kind::pack;
  if (is_a_pack) MGTUNE_TRY(check_trusted_file(folder.get(), name, descriptor.get(), path));
  const auto bytes = static_cast<std::size_t>(info.st_size);
  const std::size_t max_bytes = is_a_pack ? kMaxPackBytes : kMaxTableBytes;
  if (bytes > max_bytes) {
    return corrupt(path + " is larger than " + std::to_string(max_bytes) + " bytes");
  }
  file.content.reserve(bytes);
  if (!read_all(descriptor.get(), file.content, bytes)) return failure(path, errno);
  return file;
}

}  // namespace mgtune
