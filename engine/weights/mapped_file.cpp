#include "weights/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "system/file_descriptor.h"

namespace mgtune::engine {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto failure = [&] { return io_error(fmt::format("{}: {}", path, std::strerror(errno))); };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return failure();
  if (!S_ISREG(status.st_mode)) return io_error(fmt::format("{}: this is not a file", path));
  MappedFile mapped;
  mapped.path_ = path;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return mapped;
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) return failure();
  mapped.bytes_ = {static_cast<const char*>(start), size};
  return mapped;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace mgtune::engine
