// Sums over groups of consecutive threads of a block: parts of a warp, several warps, or the whole
// block.
//
// The order of the additions is a fixed tree, the same in every thread. So equal inputs give equal
// bits in every run and in all threads of the group. Blocks are one-dimensional (threadIdx.x).

#pragma once

namespace mg {

// Returns the sum over the kLanes lanes around this thread, an aligned part of its warp. It takes
// log2(kLanes) shuffles. Every lane of that part must call it; the other lanes need not.
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

// The length of the scratch array of sum(). It is at least 1, so that such an array can be
// declared.
template <int kThreads, int kGroupsPerBlock>
__host__ __device__ constexpr int sum_scratch_floats() {
  return kThreads <= 32 ? 1 : kThreads / 32 * kGroupsPerBlock;
}

// Returns the sum over the aligned group of kThreads consecutive threads around this one. kThreads
// is a power of two up to 1024.
// Up to 32 threads: every thread of the group must call it, and `scratch` is not used. More
// threads: every thread of the block must call it, and there is one barrier inside. The block needs
// another barrier before a second call uses the same `scratch`.
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
    // Each warp adds up the sums of its group itself, which saves a second barrier.
    return sum_of_lanes<kWarps>(scratch[warp / kWarps * kWarps + lane % kWarps]);
  }
}

}  // namespace mg
