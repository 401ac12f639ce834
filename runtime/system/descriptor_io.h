// Reads and writes file descriptors whole: these functions repeat what a signal interrupts (EINTR)
// and go on after a part was read or written. On failure errno says why. Thread-safe.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace mgtune {

// Appends one read of at most `max_bytes` to `text`. Returns the bytes read, 0 at the end, and -1
// on failure, for example with EAGAIN if a non-blocking descriptor has nothing to read.
ssize_t read_some(int descriptor, std::string& text, std::size_t max_bytes = std::size_t{1} << 16);

// Appends what is left to `text`, up to `max_bytes`. False on failure.
bool read_all(int descriptor, std::string& text, std::size_t max_bytes = std::string::npos);

bool write_all(int descriptor, std::string_view bytes);  // false on failure

// The same for a socket. If the other side has closed it, it fails with EPIPE and raises no
// SIGPIPE.
bool send_all(int socket, std::string_view bytes);

}  // namespace mgtune
