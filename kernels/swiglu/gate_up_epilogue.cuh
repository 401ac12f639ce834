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
  // in values[0]. Writes gate and up.
  template <int kCount>
  __device__ __forceinline__ void apply(int row, int column, float (&values)[2][kCount]) const {
    if constexpr (GATE) {
      mg::store<kCount>(gate + row * gate_stride + column, mg::from_floats<T>(values[0]));
    }
    if constexpr (UP) {
      mg::store<kCount>(up + row * up_stride + column, mg::from_floats<T>(values[1]));
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[0][i] *= values[1][i] * mg::sigmoid<T>(values[0][i]).value;
    }
  }

  // Writes 8 columns of a row.
  __device__ __forceinline__ void operator()(int row, int column, float (&values)[2][8]) const {
    apply(row, column, values);
    mg::store<8>(h + row * h_stride + column, mg::from_floats<T>(values[0]));
  }
};
