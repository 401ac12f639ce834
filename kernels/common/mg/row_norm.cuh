// The arithmetic of a normalized row, one vector at a time. Everything is fp32, and each result is
// rounded once.

#pragma once

#include <mg/convert.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

template <class T, int kVec>
__device__ __forceinline__ float sum_of_squares(const Vec<T, kVec>& x) {
  float values[kVec], sum = 0.0f;
  to_floats(x, values);
#pragma unroll
  for (int i = 0; i < kVec; ++i) sum += values[i] * values[i];
  return sum;
}

template <class T, int kVec>
__device__ __forceinline__ Vec<T, kVec> sum_of(const Vec<T, kVec>& a, const Vec<T, kVec>& b) {
  float values[kVec], others[kVec];
  to_floats(a, values);
  to_floats(b, others);
#pragma unroll
  for (int i = 0; i < kVec; ++i) values[i] += others[i];
  return from_floats<T>(values);
}

// Returns x * scale * (weight_offset + weight).
template <class T, class W, int kVec>
__device__ __forceinline__ Vec<T, kVec> scaled(const Vec<T, kVec>& x, const Pieces<W, kVec>& weight,
                                               float weight_offset, float scale) {
  float values[kVec], weights[kVec];
  to_floats(x, values);
  to_floats(weight, weights);
#pragma unroll
  for (int i = 0; i < kVec; ++i) values[i] = values[i] * scale * (weight_offset + weights[i]);
  return from_floats<T>(values);
}

}  // namespace mg
