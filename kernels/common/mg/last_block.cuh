// Finds out which of several blocks finishes its part last, so that this block can go on with the
// results of all.
//
//   if (!mg::is_last_block(counter, count)) return;     every thread of each of `count` blocks
//   ...read with __ldcg what the blocks wrote...
//
// The counter lies in global memory. It is zero before the first block and after the last one. No
// block waits for another.

#pragma once

#include <mg/shared.cuh>
#include <mg/types.cuh>

namespace mg {

// The last block sees everything that the other blocks wrote before their calls. One thread
// executes the fences; the barriers extend them to the whole block.
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
