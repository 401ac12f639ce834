// What swiglu.gate_up does with the sums: h = silu(gate) * up in fp32, rounded once. The
// pre-activations gate and up are rounded for the backward pass only. gate_up_mma.cu explains the
// operator.

#pragma once

#include <mg/convert.cuh>
#include <mg/sigmoid.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class T, bool GATE, bool UP>
struct GateUpEpilogue {
  T *h, *gate, *up;
  mg::i64 h_stride, gate_stride, up_stride;

  // Turns the sums of kCount columns of a row, of gate in values[0] and of up in values[1], into h
  // in values[0]. Writes gate and up if the elements are inside h; otherwise the results mean
  // nothing.
  template <int kCount>
  __device__ __forceinline__ void apply(int row, int column, bool is_inside,
                                        float (&values)[2][kCount]) const {
    if constexpr (GATE) {
      T* const to = gate + row * gate_stride + column;
      if (is_inside) mg::store<kCount>(to, mg::from_floats<T>(values[0]));
    }
    if constexpr (UP) {
      T* const to = up + row * up_stride + column;
      if (is_inside) mg::store<kCount>(to, mg::from_floats<T>(values[1]));
    }
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      float sigmoids[2];
      mg::sigmoid_of_two<T>(values[0][i], values[0][i + 1], sigmoids);
      values[0][i] *= values[1][i] * sigmoids[0];
      values[0][i + 1] *= values[1][i + 1] * sigmoids[1];
    }
  }

  // Writes 8 columns of a row.
  __device__ __forceinline__ void operator()(int row, int column, float (&values)[2][8]) const {
    apply(row, column, true, values);
    mg::store<8>(h + row * h_stride + column, mg::from_floats<T>(values[0]));
  }
};
