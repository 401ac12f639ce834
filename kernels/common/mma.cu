// Keeps the tensor cores busy through mma.sync. Its rate is the ceiling of matrix products of a
// warp.
//
//   tile (r, c) of warp w = steps * sum over s < 2 of a[s][r] (16 x K) * b[s][c] (K x 8)
//
// Algorithm  Every warp holds two sets of ROWS tiles of a and COLUMNS tiles of b. It adds up all
//            their products again and again. ROWS * COLUMNS independent accumulators hide the
//            latency. The operands differ from one product to the next, as in a real matrix
//            product. Word n of lane l of warp w is in[(w * n_words + n) * 32 + l]; indices wrap
//            around at the end of `in`. For each s come the words of a[s][0], a[s][1], ..., then
//            those of b[s][0], ... (mma.cuh).
// Traffic    It writes the accumulators: out[(w * ROWS * COLUMNS * 4 + n) * 32 + l]. It reads
//            `words` words from the caches.
// Work       steps * 2 * ROWS * COLUMNS * 2 * 16 * 8 * K flops per warp.
// Tunables   T, K       The operands are half or bf16. K is 16, or 8 on compute capability 7.5.
//            ROWS, COLUMNS   The accumulators of a warp. More hide latency but cost registers.
// Numerics   Products are exact. The fp32 sums grow with the steps, and so do their rounding
//            errors.

#include <mg/mma.cuh>
#include <mg/types.cuh>

template <typename T, int K, int ROWS, int COLUMNS>
__global__ void mma_peak(float* out, const mg::u32* in, int words, int steps) {
  constexpr int kSets = 2, kWordsOfA = K / 4, kWordsOfB = K / 8;
  constexpr int kWords = kSets * (ROWS * kWordsOfA + COLUMNS * kWordsOfB);
  const mg::i64 warp = (mg::i64{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const mg::u32 lane = threadIdx.x % 32u;

  mg::u32 a[kSets][ROWS][kWordsOfA], b[kSets][COLUMNS][kWordsOfB];
  mg::i64 next = warp * kWords;
#pragma unroll
  for (int s = 0; s < kSets; ++s) {
#pragma unroll
    for (int i = 0; i < ROWS * kWordsOfA; ++i) {
      a[s][i / kWordsOfA][i % kWordsOfA] = in[(next++ * 32 + lane) % words];
    }
#pragma unroll
    for (int i = 0; i < COLUMNS * kWordsOfB; ++i) {
      b[s][i / kWordsOfB][i % kWordsOfB] = in[(next++ * 32 + lane) % words];
    }
  }

  float sums[ROWS][COLUMNS][4] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
#pragma unroll
      for (int i = 0; i < ROWS * COLUMNS; ++i) {
        const int r = i / COLUMNS, c = i % COLUMNS;
        mg::mma_m16n8<T, K>(sums[r][c], a[s][r], b[s][c]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS * 4; ++i) {
    out[(warp * ROWS * COLUMNS * 4 + i) * 32 + lane] =
        sums[i / 4 / COLUMNS][i / 4 % COLUMNS][i % 4];
  }
}
