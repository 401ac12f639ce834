// Reads memory. Its rate is the ceiling of kernels that read far more than they write.
//
//   sums[w] = sum of the 32-bit words that warp w has read, modulo 2^32
//
// Algorithm  Each access has 16 bytes. In a tile a thread makes TILE accesses, and starts all of
//            them before the first addition. Blocks stride over the tiles, so any grid reads
//            everything once. A warp adds its lanes' sums and writes one word. The sum of these
//            words proves that everything was read.
// Traffic    It reads vectors * 16 bytes and writes 4 bytes per warp.
// Tunables   TILE       The accesses of a thread in flight. More hide latency but cost registers.
// Numerics   Whole numbers; the order of additions changes nothing.

#include <mg/types.cuh>
#include <mg/vec.cuh>

template <int TILE>
__global__ void read(mg::u32* sums, const mg::u32* from, long long vectors) {
  const mg::i64 tile = mg::i64{blockDim.x} * TILE;
  mg::u32 sum = 0;
  for (mg::i64 start = mg::i64{blockIdx.x} * tile; start < vectors; start += gridDim.x * tile) {
    const mg::i64 first = start + threadIdx.x;
    mg::Vec<mg::u32, 4> held[TILE];
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      const mg::i64 at = first + mg::i64{blockDim.x} * i;
      held[i] = at < vectors ? mg::load<4>(from + 4 * at) : mg::Vec<mg::u32, 4>{};
    }
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      sum += held[i].data[0] + held[i].data[1] + held[i].data[2] + held[i].data[3];
    }
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (threadIdx.x % 32 == 0) {
    sums[mg::i64{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32] = sum;
  }
}
