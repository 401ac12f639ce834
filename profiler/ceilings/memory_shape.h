// How the kernels that move memory (copy.cu, read.cu) are launched: tiles of vectors, one block a
// tile or blocks that stride over the tiles. Pure.

#pragma once

#include <algorithm>
#include <cstdint>

namespace mgtune {

inline constexpr std::int64_t kVectorBytes = 16;  // of one access

struct MemoryShape {
  std::uint32_t threads;
  std::int64_t tile;           // accesses a thread
  std::int64_t blocks_per_sm;  // that stride over the tiles; 0: a block for each tile

  std::uint32_t blocks(std::int64_t vectors, std::int64_t sm_count) const {
    const std::int64_t in_tile = tile * threads;
    std::int64_t blocks = (vectors + in_tile - 1) / in_tile;
    if (blocks_per_sm > 0) {
      blocks = std::min(blocks, std::max<std::int64_t>(1, blocks_per_sm * sm_count));
    }
    return static_cast<std::uint32_t>(blocks);
  }
};

// Whole vectors in about so many bytes, at least one.
inline std::int64_t vectors_in(std::int64_t bytes) {
  return std::max<std::int64_t>(1, (bytes + kVectorBytes / 2) / kVectorBytes);
}

}  // namespace mgtune
