// Keeps the tensor cores busy through wgmma. Its rate is the ceiling of matrix products on sm_90a.
//
//   tile of warpgroup g = steps * a[g] (64 x 64) * b (64 x N); all warpgroups of a block share b
//
// Algorithm  Operands lie in shared memory, and the accumulators of a warpgroup in its registers. A
//            step is four products of 16 elements of k. It is issued while the step before it runs.
//            Shared memory is filled word by word from `in`. Each block begins at another place,
//            and indices wrap around at the end. It holds a and b in the layout of
//            <mg/panel_tile.cuh>.
// Traffic    It writes the accumulators: out[((block * WARPGROUPS + g) * N / 2 + n) * 128 +
//            thread]. It reads `words` words from the caches.
// Work       steps * 4 * 2 * 64 * N * 16 flops per warpgroup.
// Tunables   T          The operands are half or bf16.
//            N          The width of a product. A wider product needs less of the bandwidth of
//                       shared memory, but N / 2 registers per thread.
//            WARPGROUPS The warpgroups of a block. More have more to issue, but need more shared
//                       memory.
// Numerics   Products are exact. The fp32 sums grow with the steps, and so do their rounding
//            errors.

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
  using A = mg::PanelTile<T, 64, 64>;
  using B = mg::PanelTile<T, N, 64>;
  float sums[N / 2] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    mg::wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      mg::wgmma<T, N>(sums, mg::k_major<A>(a, 0, k), mg::k_major<B>(b, 0, k), true);
    }
    mg::wgmma_commit();
    mg::wgmma_wait<1>(sums);
  }
  mg::wgmma_wait<0>(sums);

  const mg::i64 first = (mg::i64{blockIdx.x} * WARPGROUPS + warpgroup) * (N / 2);
#pragma unroll
  for (int n = 0; n < N / 2; ++n) out[(first + n) * 128 + threadIdx.x % 128u] = sums[n];
}
