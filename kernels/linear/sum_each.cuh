// Sums of several values over a warp at once.
//
//   float values[8];
//   float sum = sum_each<8>(values);       lane l gets the sum over the warp of values[l % 8]
//
// Each of the first steps halves the number of values that a lane holds: two lanes exchange the
// halves that the other one keeps. So kCount values take kCount - 1 + log2(32 / kCount) shuffles
// instead of 5 * kCount. The order of the additions is fixed. Every lane of the warp calls it.

#pragma once

template <int kCount>
__device__ __forceinline__ float sum_each(float (&values)[kCount]) {
  static_assert(kCount >= 1 && kCount <= 32 && (kCount & (kCount - 1)) == 0, "halves, and a warp");
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int distance = kCount / 2; distance > 0; distance /= 2) {
    const bool keeps_upper = (lane & distance) != 0;
#pragma unroll
    for (int i = 0; i < distance; ++i) {
      const float sent = keeps_upper ? values[i] : values[i + distance];
      const float kept = keeps_upper ? values[i + distance] : values[i];
      values[i] = kept + __shfl_xor_sync(0xffffffffu, sent, distance);
    }
  }
#pragma unroll
  for (int distance = kCount; distance < 32; distance *= 2) {
    values[0] += __shfl_xor_sync(0xffffffffu, values[0], distance);
  }
  return values[0];
}
