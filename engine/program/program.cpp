#include "program/program.h"

#include <algorithm>

namespace mgtune::engine {

std::optional<std::uint32_t> Program::find_buffer(std::string_view name) const {
  const auto found = std::ranges::find(buffers, name, &Buffer::name);
  if (found == buffers.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - buffers.begin());
}

std::optional<std::uint64_t> arena_bytes(const Program& program, BufferKind kind) {
  std::uint64_t end = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != kind) continue;
    const std::optional<std::uint64_t> bytes = size_in_bytes(buffer);
    if (!bytes) return std::nullopt;
    end = std::max(end, buffer.base + *bytes);
  }
  return end;
}

}  // namespace mgtune::engine
