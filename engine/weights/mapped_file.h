// MappedFile: the bytes of a file, mapped read-only. The destructor unmaps them. Move-only; any
// number of threads may read. The file must not become shorter while it is mapped.

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"

namespace mgtune::engine {

class MappedFile {
 public:
  MappedFile() = default;
  static Result<MappedFile> open(const std::string& path);  // io
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string path_;
  std::string_view bytes_;
};

}  // namespace mgtune::engine
