// The last step of a sum over rows that many blocks share. Each block left a row of fp32 partial
// sums. These rows are added up, always in the same order.
//
//   partials + i * row_length    the partial sums of part i; row_length is a multiple of 4
//
// A block of kThreads threads adds up 32 columns. 8 threads read a row, 16 bytes each, so kThreads
// / 8 rows are read at once. Each thread adds up every (kThreads / 8)-th row, shuffles add the four
// rows of a warp, and one warp adds the warps' sums from shared memory.
// Reads go through L2 (ld.cg), because the partial sums may come from blocks of the same grid,
// after a fence has made them visible.

#pragma once

#include <mg/types.cuh>

namespace mg {

inline constexpr int kPartialSumColumns = 32;  // the columns that one call adds up

template <int kThreads>
constexpr int kPartialSumScratch = kThreads / 32 * kPartialSumColumns;  // floats

// Returns the total of column first_column + threadIdx.x in threads 0 to 31. The result has no
// meaning in other threads, nor for columns from row_length on, which are not read. There is one
// barrier inside. The block needs another barrier before it uses `scratch` again.
template <int kThreads>
__device__ __forceinline__ float sum_partials(const float* partials, i32 parts, i64 row_length,
                                              i64 first_column, float* scratch) {
  static_assert(kThreads % 32 == 0 && kThreads <= 1024, "whole warps");
  constexpr int kRowsAtOnce = kThreads / 8;
  const int thread = static_cast<int>(threadIdx.x);
  const i64 column = first_column + thread % 8 * 4;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (column < row_length) {
#pragma unroll 4
    for (int part = thread / 8; part < parts; part += kRowsAtOnce) {
      const float4 value =
          __ldcg(reinterpret_cast<const float4*>(partials + part * row_length + column));
      sum.x += value.x;
      sum.y += value.y;
      sum.z += value.z;
      sum.w += value.w;
    }
  }
#pragma unroll
  for (int distance = 8; distance < 32; distance *= 2) {
    sum.x += __shfl_xor_sync(0xffffffffu, sum.x, distance);
    sum.y += __shfl_xor_sync(0xffffffffu, sum.y, distance);
    sum.z += __shfl_xor_sync(0xffffffffu, sum.z, distance);
    sum.w += __shfl_xor_sync(0xffffffffu, sum.w, distance);
  }
  if (thread % 32 < 8) {
    float* const to = scratch + thread / 32 * kPartialSumColumns + thread % 8 * 4;
    to[0] = sum.x;
    to[1] = sum.y;
    to[2] = sum.z;
    to[3] = sum.w;
  }
  __syncthreads();
  float total = 0.0f;
  if (thread < kPartialSumColumns) {
#pragma unroll
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      total += scratch[warp * kPartialSumColumns + thread];
    }
  }
  return total;
}

}  // namespace mg
