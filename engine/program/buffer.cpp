#include "program/buffer.h"

#include <limits>

namespace mgtune::engine {

std::string_view to_string(BufferKind kind) {
  return kBufferKindWords[static_cast<std::size_t>(kind)];
}

bool is_buffer_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
  return !name.empty() && name.size() <= 200 && name.find_first_not_of(kAllowed) == name.npos;
}

std::optional<std::uint64_t> size_in_bytes(const Buffer& buffer) {
  const auto element = static_cast<std::uint64_t>(size_in_bytes(buffer.dtype));
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (buffer.elements > kMax / element || buffer.base > kMax - buffer.elements * element) {
    return std::nullopt;
  }
  return buffer.elements * element;
}

bool share_memory(const Buffer& a, const Buffer& b) {
  return a.kind == b.kind && a.base < b.base + *size_in_bytes(b) &&
         b.base < a.base + *size_in_bytes(a);
}

}  // namespace mgtune::engine
