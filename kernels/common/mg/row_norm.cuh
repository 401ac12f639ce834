// Arithmetic of a normalized row, a vector at a time: everything in fp32, each result rounded once.

#pragma once

#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

template <class T, int kVec>
__device__ __forceinline__ float sum_of_squares(const Vec<T, kVec>& x) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    const float value = to_float(x.data[i]);
    sum += value * value;
  }
  return sum;
}

template <class T, int kVec>
__device__ __forceinline__ Vec<T, kVec> sum_of(const Vec<T, kVec>& a, const Vec<T, kVec>& b) {
  Vec<T, kVec> sum;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    sum.data[i] = from_float<T>(to_float(a.data[i]) + to_float(b.data[i]));
  }
  return sum;
}

// x * scale * (weight_offset + weight)
template <class T, class W, int kVec>
__device__ __forceinline__ Vec<T, kVec> scaled(const Vec<T, kVec>& x, const Pieces<W, kVec>& weight,
                                               float weight_offset, float scale) {
  Vec<T, kVec> y;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    y.data[i] = from_float<T>(to_float(x.data[i]) * scale * (weight_offset + to_float(weight[i])));
  }
  return y;
}

}  // namespace mg
