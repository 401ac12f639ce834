// Sums over a group of threads of a block that does not wait for other groups. So the groups may be
// in different iterations of a loop. Several sums share one barrier.
//
//   MG_SHARED(float, scratch, [2 * mg::group_sum_floats<128, 4, 2>()]);  4 groups of 128 threads
//   float sums[2] = {...};
//   mg::group_sums<128, 4>(sums, scratch + turn);     turn alternates between the halves of scratch
//
// A group of up to 32 threads is an aligned part of a warp and does not use `scratch`. A larger
// group is whole warps, which meet at a barrier of their own (bar.sync 1 to 15). One barrier is
// enough if two scratch areas take turns: a thread that writes an area again has passed the barrier
// of the call in between, and every thread had read the area before it reached that barrier.
// Every thread of the group must call it. Blocks are one-dimensional. The order of the additions is
// a fixed tree, as in <mg/reduce.cuh>.

#pragma once

#include <mg/reduce.cuh>
#include <mg/types.cuh>

namespace mg {

// The length of one scratch area; at least 1.
template <int kThreads, int kGroups, int kSums>
__host__ __device__ constexpr int group_sum_floats() {
  return sum_scratch_floats<kThreads, kGroups>() * kSums;
}

// A barrier of the kThreads consecutive threads that the caller belongs to. They are whole warps.
template <int kThreads>
__device__ __forceinline__ void sync_group() {
  const u32 barrier = 1u + threadIdx.x / static_cast<u32>(kThreads);
#if defined(MGTUNE_CPU_DEVICE)
  ::mgcpu::named_barrier(barrier, kThreads);
#else
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
#endif
}

// Replaces each of sums[] by its sum over the group, in all threads of the group.
template <int kThreads, int kGroups, int kSums>
__device__ __forceinline__ void group_sums(float (&sums)[kSums], float* scratch) {
  static_assert(kThreads <= 32 || kGroups <= 15, "named barriers of a block");
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = sum_of_lanes<(kThreads < 32 ? kThreads : 32)>(sums[i]);
  if constexpr (kThreads > 32) {
    constexpr u32 kWarps = kThreads / 32;
    const u32 warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) scratch[warp * kSums + i] = sums[i];
    }
    if constexpr (kGroups == 1) {
      __syncthreads();
    } else {
      sync_group<kThreads>();
    }
    const float* const of_group = scratch + (warp / kWarps * kWarps + lane % kWarps) * kSums;
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] = sum_of_lanes<kWarps>(of_group[i]);
  }
}

}  // namespace mg
