// Keeps the tensor cores busy through mma.sync: the ceiling of matrix products of a warp.
//
//   tile (r, c) of warp w = steps * sum over s < 2 of a[s][r] (16 x K) * b[s][c] (K x 8)
//
// Algorithm  every warp holds ROWS tiles of a and COLUMNS of b, twice, and adds up all their
//            products again and again: ROWS * COLUMNS independent accumulators hide the latency,
//            and operands differ from one product to the next, as they do in a matrix product.
//            Word n of lane l of warp w is in[(w * n_words + n) * 32 + l], taken round and round:
//            for each s the words of a[s][0], a[s][1], ..., then those of b[s][0], ... (mma.cuh).
// Traffic    writes the accumulators: out[(w * ROWS * COLUMNS * 4 + n) * 32 + l]; `words` words
//            read out of the caches.
// Work       steps * 2 * ROWS * COLUMNS * 2 * 16 * 8 * K flops a warp.
// Tunables   T, K       operands: half or bf16; 16, or 8 where compute capability is 7.5
//            ROWS, COLUMNS   accumulators a warp        trade: latency hiding vs registers
// Numerics   exact products, fp32 sums that grow with the steps: their rounding errors do as well.

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
