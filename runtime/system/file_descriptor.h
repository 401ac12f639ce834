// FileDescriptor: an open file of this process. The destructor closes it. Move-only; one thread at
// a time per object.

#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
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

// The functions below call the system again if a signal interrupts a call (EINTR), and go on after
// a part was read or written. On failure errno says why. They are thread-safe.

// Appends one read of at most `max_bytes` to `text`. Returns the bytes read, 0 at the end, and -1
// on failure, for example with EAGAIN if a non-blocking descriptor has nothing to read.
ssize_t read_some(int descriptor, std::string& text, std::size_t max_bytes = std::size_t{1} << 16);

// Appends the rest of the file to `text`, up to `max_bytes`. False on failure.
bool read_all(int descriptor, std::string& text, std::size_t max_bytes = std::string::npos);

bool write_all(int descriptor, std::string_view bytes);  // false on failure

// The same for a socket. If the other side has closed it, it fails with EPIPE and raises no
// SIGPIPE.
bool send_all(int socket, std::string_view bytes);

}  // namespace mgtune
