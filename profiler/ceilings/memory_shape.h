// How the kernels that move memory (copy.cu, read.cu) are launched: in tiles of vectors, with one
// block per tile, or with blocks that stride over the tiles. Pure.

#pragma once

#include <algorithm>
#include <cstdint>

namespace mgtune {

inline constexpr std::int64_t kVectorBytes = 16;  // of one access

struct MemoryShape {
  std::uint32_t threads;
  std::int64_t tile;           // accesses per thread
  std::int64_t blocks_per_sm;  // blocks that stride over the tiles; 0: one block per tile

  std::uint32_t blocks(std::int64_t vectors, std::int64_t sm_count) const {
    const std::int64_t in_tile = tile * threads;
    std::int64_t blocks = (vectors + in_tile - 1) / in_tile;
    if (blocks_per_sm > 0) {
      blocks = std::min(blocks, std::max<std::int64_t>(1, blocks_per_sm * sm_count));
    }
    return static_cast<std::uint32_t>(blocks);
  }
};

// The number of whole vectors in about so many bytes, at least one.
inline std::int64_t vectors_in(std::int64_t bytes) {
  return std::max<std::int64_t>(1, (bytes + kVectorBytes / 2) / kVectorBytes);
}

}  // namespace mgtune
