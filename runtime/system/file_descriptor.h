// FileDescriptor: an open file of this process. The destructor closes it. Move-only; one thread at
// a time per object.

#pragma once

#include <unistd.h>

#include <utility>

namespace mgtune {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  // The result of close(2). Some file systems report only then that a write failed.
  int close() {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor >= 0 ? ::close(descriptor) : 0;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace mgtune
