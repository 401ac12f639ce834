// Keeps the tensor cores busy through wgmma: the ceiling of matrix products on sm_90a.
//
//   tile of warpgroup g = steps * a[g] (64 x 64) * b (64 x N), b one for all warpgroups of a block
//
// Algorithm  operands lie in shared memory, the accumulators of a warpgroup in its registers. A
// step
//            is four products of 16 elements of k, and is issued while the one before it runs.
//            Shared memory is filled word by word from `in`, each block from another place, round
//            and round; what it holds is a and b in the layout of <mg/wgmma.cuh>.
// Traffic    writes the accumulators: out[((block * WARPGROUPS + g) * N / 2 + n) * 128 + thread];
//            `words` words read out of the caches.
// Work       steps * 4 * 2 * 64 * N * 16 flops a warpgroup.
// Tunables   T          operands: half or bf16
//            N          width of a product              trade: less of shared memory's bandwidth vs
//                                                       registers (N / 2 a thread)
//            WARPGROUPS in a block                      trade: more to issue vs shared memory
// Numerics   exact products, fp32 sums that grow with the steps: their rounding errors do as well.

#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/wgmma.cuh>

template <typename T, int N, int WARPGROUPS>
__global__ void __launch_bounds__(128 * WARPGROUPS)
    wgmma_peak(float* out, const mg::u32* in, int words, int steps) {
  constexpr mg::u32 kRowWords = 32, kTileWords = 64 * kRowWords;
  constexpr mg::u32 kWords = WARPGROUPS * kTileWords + N * kRowWords;
  mg::u32* const operands = mg::dynamic_shared<mg::u32>();
  for (mg::u32 i = threadIdx.x; i < kWords; i += blockDim.x) {
    operands[i] = in[(mg::i64{blockIdx.x} * kWords + i) % words];
  }
  mg::publish_to_wgmma();
  __syncthreads();

  const mg::u32 warpgroup = threadIdx.x / 128u;
  const mg::u32* const a = operands + warpgroup * kTileWords;
  const mg::u32* const b = operands + WARPGROUPS * kTileWords;
  float sums[N / 2] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    mg::wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) mg::wgmma_m64k16<T, N>(sums, a + 8 * k, b + 8 * k);
    mg::wgmma_commit();
    mg::wgmma_wait<1>(sums);
  }
  mg::wgmma_wait<0>(sums);

  const mg::i64 first = (mg::i64{blockIdx.x} * WARPGROUPS + warpgroup) * (N / 2);
#pragma unroll
  for (int n = 0; n < N / 2; ++n) out[(first + n) * 128 + threadIdx.x % 128u] = sums[n];
}
