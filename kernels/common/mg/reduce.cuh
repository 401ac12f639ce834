// Sums over groups of consecutive threads of a block: parts of a warp, warps, the whole block.
//
// The order of the additions is a fixed tree, the same in every thread: equal inputs give equal
// bits in every run and in all threads of the group. For one-dimensional blocks (threadIdx.x).

#pragma once

namespace mg {

// Over the kLanes lanes (an aligned part of a warp) that hold this thread; log2(kLanes) shuffles.
// Every lane of that part must call it, the others need not.
template <int kLanes>
__device__ __forceinline__ float sum_of_lanes(float value) {
  static_assert(kLanes >= 1 && kLanes <= 32 && (kLanes & (kLanes - 1)) == 0, "part of a warp");
  unsigned int mask = 0xffffffffu;
  if constexpr (kLanes < 32) {
    mask = ((1u << kLanes) - 1u) << (threadIdx.x % 32u / kLanes * kLanes);
  }
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(mask, value, distance);
  }
  return value;
}

// Length of sum's scratch array; at least 1, so that an array of this length can be declared.
template <int kThreads, int kGroupsPerBlock>
__host__ __device__ constexpr int sum_scratch_floats() {
  return kThreads <= 32 ? 1 : kThreads / 32 * kGroupsPerBlock;
}

// Over the aligned group of kThreads consecutive threads that holds this one; kThreads is a power
// of two up to 1024. Up to 32: every thread of the group must call it; `scratch` is not touched.
// Above: every thread of the block must call it; one barrier inside. The block needs another
// barrier before the same `scratch` serves a second call.
template <int kThreads>
__device__ __forceinline__ float sum(float value, float* scratch) {
  static_assert(kThreads >= 1 && kThreads <= 1024 && (kThreads & (kThreads - 1)) == 0,
                "the tree halves the group");
  if constexpr (kThreads <= 32) {
    return sum_of_lanes<kThreads>(value);
  } else {
    constexpr unsigned int kWarps = kThreads / 32;
    const unsigned int warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
    value = sum_of_lanes<32>(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    // Each warp adds its group's sums for itself: no second barrier to hand the total round.
    return sum_of_lanes<kWarps>(scratch[warp / kWarps * kWarps + lane % kWarps]);
  }
}

}  // namespace mg
