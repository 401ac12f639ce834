// Which jobs a block of the designs wgmma computes. A job is a block of rows of one head. With
// SCHEDULE::grid a block has one job, given by its place in the grid. With SCHEDULE::dynamic it
// takes a further job whenever it has finished one.
//
//   int job = blockIdx.x;
//   while (job < count) {
//     ... bring the rows and tiles of the job ...
//     if constexpr (kSchedule == SCHEDULE::grid) break;
//     job = next_job(counter, count);
//   }
//
// `counter` is in global memory. It is 0 before a launch and after it.

#pragma once

#include <mg/types.cuh>

enum class SCHEDULE { grid, dynamic };

// One thread of a block calls it. In all, it is called once for each of the `count` jobs. The last
// call resets the counter.
__device__ __forceinline__ int next_job(mg::u32* counter, int count) {
  const int taken = static_cast<int>(atomicAdd(counter, 1u));
  if (taken == count - 1) *counter = 0;
  return static_cast<int>(gridDim.x) + taken;
}
