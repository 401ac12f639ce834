#include "system/file_descriptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace mgtune {
namespace {

template <typename Call>
ssize_t repeat_if_interrupted(const Call& call) {
  ssize_t result = 0;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

template <typename Put>
bool put_all(std::string_view bytes, const Put& put) {
  while (!bytes.empty()) {
    const ssize_t count = repeat_if_interrupted([&] { return put(bytes); });
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

ssize_t read_some(int descriptor, std::string& text, std::size_t max_bytes) {
  const std::size_t size = text.size();
  text.resize(size + max_bytes);
  const ssize_t count =
      repeat_if_interrupted([&] { return ::read(descriptor, text.data() + size, max_bytes); });
  text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count;
}

bool read_all(int descriptor, std::string& text, std::size_t max_bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  while (max_bytes > 0) {
    const ssize_t count = read_some(descriptor, text, std::min(max_bytes, kChunk));
    if (count <= 0) return count == 0;
    max_bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  return put_all(bytes, [descriptor](std::string_view rest) {
    return ::write(descriptor, rest.data(), rest.size());
  });
}

bool send_all(int socket, std::string_view bytes) {
  return put_all(bytes, [socket](std::string_view rest) {
    return ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
  });
}

}  // namespace mgtune
