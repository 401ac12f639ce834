// Random numbers that depend on a seed and an index alone. Whoever computes element i gets the same
// number.
//
//   const mg::u64 bits = mg::random_bits(seed, i);
//   const float x = mg::normal_of(bits);           mean 0, deviation 1, within +-6.8
//
// Each element takes one 64-bit hash: the finalizer of SplitMix64 over a counter that begins at a
// hash of the seed. normal_of() turns the two halves of the hash into one normal number with the
// formula of Box and Muller.
// Numerics: integer steps are exact. logf, cosf and sqrtf may differ between CPU and GPU in their
// last bits.

#pragma once

#include <mg/types.cuh>

namespace mg {

__device__ inline u64 hash64(u64 value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// The odd constant is 2^64 / golden ratio: the counter visits every 64-bit value once.
__device__ inline u64 random_bits(u64 seed, i64 index) {
  return hash64(hash64(seed + 0x9e3779b97f4a7c15ull) +
                static_cast<u64>(index) * 0x9e3779b97f4a7c15ull);
}

__device__ inline float normal_of(u64 bits) {
  const float radius_bits = static_cast<float>(static_cast<u32>(bits >> 32));
  const float angle_bits = static_cast<float>(static_cast<u32>(bits));
  // Half a step up keeps the logarithm's argument above 0: 2^-33 gives the largest radius, 6.76.
  const float radius = sqrtf(-2.0f * logf((radius_bits + 0.5f) * 0x1p-32f));
  return radius * cosf(angle_bits * (6.28318530718f * 0x1p-32f));
}

}  // namespace mg
