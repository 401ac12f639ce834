// Stores a row of accumulators of <mg/wgmma.cuh> to global memory, 16 bytes at a time, without
// shared memory.
//
//   float d[N / 2];                                    64 x N accumulators, as wgmma leaves them
//   for (int r = 0; r < 2; ++r)                        a thread has two rows
//     mg::store_row<T, N>(d, r, factor, y + row * stride, row < rows);
//
// The row is multiplied by `factor` and rounded to T. The four lanes of a quad have a row together,
// and exchange words: each stores 8 of 32 consecutive columns. N is a multiple of 32, and `row` is
// aligned to 16 bytes. Every lane of a warp calls it. If the row is not there, nothing is stored.

#pragma once

#include <mg/mma.cuh>
#include <mg/quad_transpose.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

template <class T, int N>
__device__ __forceinline__ void store_row(const float (&d)[N / 2], int r, float factor, T* row,
                                          bool is_there) {
  static_assert(N % 32 == 0, "four lanes with 16 bytes each");
#pragma unroll
  for (int block = 0; block < N / 32; ++block) {
    u32 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* const two = d + 16 * block + 4 * i + 2 * r;
      words[i] = pack<T>(two[0] * factor, two[1] * factor);
    }
    transpose_in_quad(words);
    if (is_there) {
      Vec<T, 8> eight;
      memcpy(&eight, words, sizeof(eight));
      store<8>(row + 32 * block + threadIdx.x % 4u * 8u, eight);
    }
  }
}

}  // namespace mg
