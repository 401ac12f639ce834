// Finds out which of several warps, of one or of several blocks, finishes its part last. It is
// <mg/last_block.cuh> for warps that do not wait for the rest of their block.
//
//   if (!mg::is_last_warp(counter, count)) return;      every lane of each of `count` warps
//   ...read with __ldcg what the warps wrote...
//
// The counter lies in global memory. It is zero before the first warp and after the last one. No
// warp waits for another.

#pragma once

#include <mg/types.cuh>

namespace mg {

// The last warp sees everything that the other warps wrote before their calls.
__device__ __forceinline__ bool is_last_warp(u32* counter, int count) {
  u32 before = 0;
  __syncwarp();
  if (threadIdx.x % 32u == 0) {
    __threadfence();
    before = atomicAdd(counter, 1u);
    if (before == static_cast<u32>(count - 1)) *counter = 0;
    __threadfence();
  }
  __syncwarp();  // This orders the other lanes' reads after the fence; a shuffle does not.
  before = __shfl_sync(0xffffffffu, before, 0);
  return before == static_cast<u32>(count - 1);
}

}  // namespace mg
