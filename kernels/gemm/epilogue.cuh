// What gemm.forward does with the sums: y = activation(sum + bias) + residual. All of it is fp32,
// and y is rounded once. forward_mma.cu explains the operator.

#pragma once

#include <mg/convert.cuh>
#include <mg/math.cuh>
#include <mg/sigmoid.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class T, bool RELU, bool GELU, bool SILU, bool BIAS, bool RESIDUAL>
struct Epilogue {
  const T *bias, *residual;
  T* y;
  mg::i64 residual_stride, y_stride;

  // Turns the sums of kCount columns of a row into those elements of y. If they are not inside y,
  // no memory is read, and the results mean nothing.
  template <int kCount>
  __device__ __forceinline__ void apply(int row, int column, bool is_inside,
                                        float (&values)[1][kCount]) const {
    float(&sums)[kCount] = values[0];
    if constexpr (BIAS) {
      float more[kCount] = {};
      if (is_inside) mg::to_floats(mg::load<kCount>(bias + column), more);
#pragma unroll
      for (int i = 0; i < kCount; ++i) sums[i] += more[i];
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] = activation(sums[i]);
    if constexpr (RESIDUAL) {
      float more[kCount] = {};
      if (is_inside) {
        mg::to_floats(mg::load<kCount>(residual + row * residual_stride + column), more);
      }
#pragma unroll
      for (int i = 0; i < kCount; ++i) sums[i] += more[i];
    }
  }

  // Writes 8 columns of a row.
  __device__ __forceinline__ void operator()(int row, int column, float (&values)[1][8]) const {
    apply(row, column, true, values);
    mg::store<8>(y + row * y_stride + column, mg::from_floats<T>(values[0]));
  }

 private:
  static __device__ __forceinline__ float activation(float x) {
    if constexpr (RELU) {
      return x < 0.0f ? 0.0f : x;  // NaN stays NaN
    } else if constexpr (GELU) {
      return 0.5f * x * erfcf(-0.707106781f * x);
    } else if constexpr (SILU) {
      return x * mg::sigmoid<T>(x).value;
    } else {
      return x;
    }
  }
};
