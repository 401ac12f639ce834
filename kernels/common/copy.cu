// Copies memory. Its rate is the ceiling that memory-bound kernels are measured against.
//
//   to[i] = from[i]
//
// Algorithm  Each access has 16 bytes. In a tile a thread makes TILE accesses, and loads all of
//            them before its first store. Blocks stride over the tiles, so any grid copies
//            everything.
// Traffic    It reads and writes vectors * 16 bytes, once each.
// Tunables   TILE       The accesses that a thread has in flight. More hide latency but cost
//                       registers.
//            STREAMING  The stored data leaves the caches first.
// Numerics   Bits are copied, never interpreted as numbers.

#include <mg/types.cuh>
#include <mg/vec.cuh>

template <int TILE, bool STREAMING>
__global__ void copy(mg::u32* to, const mg::u32* from, long long vectors) {
  const mg::i64 tile = mg::i64{blockDim.x} * TILE;
  for (mg::i64 start = mg::i64{blockIdx.x} * tile; start < vectors; start += gridDim.x * tile) {
    const mg::i64 first = start + threadIdx.x;
    mg::Vec<mg::u32, 4> held[TILE];
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      const mg::i64 at = first + mg::i64{blockDim.x} * i;
      if (at < vectors) held[i] = mg::load<4>(from + 4 * at);
    }
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      const mg::i64 at = first + mg::i64{blockDim.x} * i;
      if (at >= vectors) continue;
      if constexpr (STREAMING) {
        mg::store_streaming<4>(to + 4 * at, held[i]);
      } else {
        mg::store<4>(to + 4 * at, held[i]);
      }
    }
  }
}
