// Which block of several is the last to be done with its part, so that it can go on with them all.
//
//   if (!mg::is_last_block(counter, count)) return;     every thread of each of `count` blocks
//   ...reads with __ldcg what they wrote...
//
// The counter, in global memory, is zero before the first block and after the last. Nobody waits.

#pragma once

#include <mg/shared.cuh>
#include <mg/types.cuh>

namespace mg {

// What any of the blocks wrote before is visible to the last one. The barriers make one thread's
// fences the block's.
__device__ __forceinline__ bool is_last_block(u32* counter, int count) {
  MG_SHARED(u32, before);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    before = atomicAdd(counter, 1u);
    if (before == static_cast<u32>(count - 1)) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  return before == static_cast<u32>(count - 1);
}

}  // namespace mg
