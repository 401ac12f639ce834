// Fill kernels of the check — element i of a tensor is a function of (seed, i) alone.
//
//   fill_normal   mean 0, deviation 1        fill_uniform   in [low, high)
//
// Algorithm  one 64-bit hash per element: SplitMix64's finaliser over a counter that begins at a
//            hash of the seed. fill_normal turns its halves into one number by Box and Muller's
//            formula. Any launch geometry gives the same tensor; threads stride over the grid.
// Traffic    writes count elements of T.
// Numerics   fp32, rounded to T once. Integer steps are exact; logf, cosf and sqrtf may differ
//            between CPU and GPU in their last bits, so a tensor filled on one may differ from the
//            other's by a rounding. A check reads the tensor that lies in memory: it never sees
//            this. Normal values stay within +-6.8; fill_uniform is in [low, high) before its last
//            rounding, to T.

#include <mg/types.cuh>
#include <mg/vec.cuh>

__device__ inline mg::u64 hash64(mg::u64 value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// The odd constant is 2^64 / golden ratio: the counter visits every 64-bit value once.
__device__ inline mg::u64 random_bits(mg::u64 seed, mg::i64 index) {
  return hash64(hash64(seed + 0x9e3779b97f4a7c15ull) +
                static_cast<mg::u64>(index) * 0x9e3779b97f4a7c15ull);
}

template <typename T>
__global__ void fill_normal(T* out, long long count, unsigned long long seed) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    const mg::u64 bits = random_bits(seed, i);
    const float radius_bits = static_cast<float>(static_cast<mg::u32>(bits >> 32));
    const float angle_bits = static_cast<float>(static_cast<mg::u32>(bits));
    // Half a step up keeps the logarithm's argument above 0: 2^-33 gives the largest radius, 6.76.
    const float radius = sqrtf(-2.0f * logf((radius_bits + 0.5f) * 0x1p-32f));
    const float angle = angle_bits * (6.28318530718f * 0x1p-32f);
    out[i] = mg::from_float<T>(radius * cosf(angle));
  }
}

template <typename T>
__global__ void fill_uniform(T* out, long long count, unsigned long long seed, float low,
                             float high) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    // 24 bits: every value of [0, 1) on this grid is an fp32.
    const float unit =
        static_cast<float>(static_cast<mg::u32>(random_bits(seed, i) >> 40)) * 0x1p-24f;
    const float value = low + (high - low) * unit;
    out[i] = mg::from_float<T>(value < high ? value : low);
  }
}
