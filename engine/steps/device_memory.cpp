#include "steps/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "steps/mgr_status.h"
#include "weights/load_weights.h"

namespace mgtune::engine {

Result<DeviceMemory> DeviceMemory::create(mgr_context_t* context, std::span<const Program> programs,
                                          std::span<const std::byte> weights) {
  DeviceMemory memory(context);
  for (std::size_t i = 0; i < memory.arenas_.size(); ++i) {
    const auto kind = static_cast<BufferKind>(i);
    std::uint64_t bytes = 0;
    for (const Program& program : programs) bytes = std::max(bytes, *arena_bytes(program, kind));
    if (bytes == 0) continue;
    void* address = nullptr;
    MGTUNE_TRY(from_mgr(mgr_allocate(context, bytes, &address)));
    memory.arenas_[i] = Arena(address, Free{context});
    if (kind == BufferKind::weight) {
      if (bytes > weights.size()) {
        return invalid_argument(fmt::format(
            "the program needs {} bytes of weights, but there are {}", bytes, weights.size()));
      }
      MGTUNE_TRY(from_mgr(mgr_copy_to_device(context, address, weights.data(), bytes)));
      continue;
    }
    MGTUNE_ASSIGN(std::vector<std::byte> content, allocate_arena(bytes));
    if (kind != BufferKind::state) std::ranges::fill(content, std::byte{0xff});
    MGTUNE_TRY(from_mgr(mgr_copy_to_device(context, address, content.data(), bytes)));
  }
  return memory;
}

void* DeviceMemory::address(const Buffer& buffer) const {
  return static_cast<std::byte*>(arenas_[static_cast<std::size_t>(buffer.kind)].get()) +
         buffer.base;
}

Status DeviceMemory::read(const Buffer& buffer, std::span<std::byte> to) const {
  assert(to.size() == *size_in_bytes(buffer));
  return from_mgr(mgr_copy_to_host(context_, to.data(), address(buffer), to.size()));
}

Status DeviceMemory::write(const Buffer& buffer, std::span<const std::byte> from) {
  assert(from.size() == *size_in_bytes(buffer));
  return from_mgr(mgr_copy_to_device(context_, address(buffer), from.data(), from.size()));
}

}  // namespace mgtune::engine
