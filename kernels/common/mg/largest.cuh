// The largest value of a block.
//
//   MG_SHARED(mg::u64, scratch, [kThreads / 32]);
//   mg::u64 largest = mg::largest_of_block<kThreads>(own, scratch);    in all threads
//   mg::larger(a, b)                                                   the larger of two
//
// Values are u64 or float; a NaN is smaller than every float. Every thread of a one-dimensional
// block of kThreads calls it. There is a barrier inside, but none before the first write of
// `scratch` and none after the last read. So two calls with the same scratch need a barrier in
// between.

#pragma once

#include <mg/types.cuh>

namespace mg {

__device__ __forceinline__ u64 larger(u64 a, u64 b) { return a > b ? a : b; }
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }

template <int kThreads, class Value>
__device__ __forceinline__ Value largest_of_block(Value value, Value* scratch) {
  static_assert(kThreads % 32 == 0, "whole warps");
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = larger(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) value = larger(value, scratch[i]);
  return value;
}

}  // namespace mg
