// Sums over a group of threads of a block that waits for nobody outside the group, so that groups
// may be in different rounds of a loop.
//
//   MG_SHARED(float, scratch, [2 * mg::group_sum_floats<128, 4>()]);     4 groups of 128 threads
//   float total = mg::group_sum<128, 4>(x, scratch + turn);    turn: the halves of scratch in turn
//
// Up to 32 threads a group is an aligned part of a warp and `scratch` is not touched; above, whole
// warps that meet at a barrier of their own (bar.sync 1 to 15). With two scratch areas in turn the
// one barrier inside is enough: whoever is at the next but one call has seen all at the one
// between. Every thread of the group must call it. For one-dimensional blocks. The order of the
// additions is a fixed tree, as in <mg/reduce.cuh>.

#pragma once

#include <mg/reduce.cuh>
#include <mg/types.cuh>

namespace mg {

// Length of one scratch area; at least 1.
template <int kThreads, int kGroups>
__host__ __device__ constexpr int group_sum_floats() {
  return sum_scratch_floats<kThreads, kGroups>();
}

// Barrier of the kThreads consecutive threads of which the calling one is; whole warps.
template <int kThreads>
__device__ __forceinline__ void sync_group() {
  const u32 barrier = 1u + threadIdx.x / static_cast<u32>(kThreads);
#if defined(MGTUNE_CPU_DEVICE)
  ::mgcpu::named_barrier(barrier, kThreads);
#else
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
#endif
}

template <int kThreads, int kGroups>
__device__ __forceinline__ float group_sum(float value, float* scratch) {
  if constexpr (kThreads <= 32 || kGroups == 1) {
    return sum<kThreads>(value, scratch);
  } else {
    static_assert(kGroups <= 15, "named barriers of a block");
    constexpr u32 kWarps = kThreads / 32;
    const u32 warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
    value = sum_of_lanes<32>(value);
    if (lane == 0) scratch[warp] = value;
    sync_group<kThreads>();
    return sum_of_lanes<kWarps>(scratch[warp / kWarps * kWarps + lane % kWarps]);
  }
}

}  // namespace mg
