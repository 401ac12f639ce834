#include "reference/machine_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "weights/load_weights.h"

namespace mgtune::engine {

Result<MachineMemory> MachineMemory::create(std::span<const Program> programs,
                                            std::span<const std::byte> weights) {
  MachineMemory memory;
  memory.weights_ = weights;
  for (std::size_t kind = 0; kind < memory.arenas_.size(); ++kind) {
    std::uint64_t bytes = 0;
    for (const Program& program : programs) {
      bytes = std::max(bytes, *arena_bytes(program, static_cast<BufferKind>(kind)));
    }
    if (static_cast<BufferKind>(kind) == BufferKind::weight) {
      if (bytes <= weights.size()) continue;
      return invalid_argument(fmt::format("the program needs {} bytes of weights, but there are {}",
                                          bytes, weights.size()));
    }
    MGTUNE_ASSIGN(memory.arenas_[kind], allocate_arena(bytes));
  }
  memory.poison();
  return memory;
}

std::span<const std::byte> MachineMemory::read(const Buffer& buffer) const {
  const std::span<const std::byte> arena =
      buffer.kind == BufferKind::weight ? weights_ : arenas_[static_cast<std::size_t>(buffer.kind)];
  return arena.subspan(buffer.base, *size_in_bytes(buffer));
}

std::span<std::byte> MachineMemory::write(const Buffer& buffer) {
  assert(buffer.kind != BufferKind::weight);
  return std::span(arenas_[static_cast<std::size_t>(buffer.kind)])
      .subspan(buffer.base, *size_in_bytes(buffer));
}

void MachineMemory::poison() {
  for (const BufferKind kind : {BufferKind::scratch, BufferKind::output}) {
    std::ranges::fill(arenas_[static_cast<std::size_t>(kind)], std::byte{0xff});
  }
}

}  // namespace mgtune::engine
