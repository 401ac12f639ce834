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

  // Writes 8 columns of a row.
  __device__ __forceinline__ void operator()(int row, int column, float (&values)[1][8]) const {
    float(&sums)[8] = values[0];
    if constexpr (BIAS) {
      float more[8];
      mg::to_floats(mg::load<8>(bias + column), more);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i] += more[i];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] = activation(sums[i]);
    if constexpr (RESIDUAL) {
      float more[8];
      mg::to_floats(mg::load<8>(residual + row * residual_stride + column), more);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i] += more[i];
    }
    mg::store<8>(y + row * y_stride + column, mg::from_floats<T>(sums));
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
