// What the designs of linear.decode share: the rows of w of an output, and what follows the sums.
//
// Set 0 is the rows of w, or with silu_gate the rows of the gates. Set 1 is the rows of up.
// begin() loads the bias and the residual of an output early. finish() gets its sums and writes it.

#pragma once

#include <mg/sigmoid.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class T>
struct DecodeWeights {
  const T *first, *second;
  int outputs, columns;
  mg::i64 row_step;

  __device__ __forceinline__ const T* first_row(int set, int output) const {
    return (set == 0 ? first : second) + output * row_step;
  }
};

template <class T, class Y, bool kGelu, bool kGate, bool kHasBias, bool kHasResidual>
struct DecodeEpilogue {
  struct Kept {
    float bias[kGate ? 2 : 1], residual;
  };
  static constexpr int kSets = kGate ? 2 : 1;
  const T* bias;
  const Y* residual;
  Y* y;
  mg::i64 residual_stride, y_stride;
  int outputs;

  __device__ __forceinline__ Kept begin(int row, int output) const {
    Kept kept{};
    if constexpr (kHasBias) {
#pragma unroll
      for (int set = 0; set < kSets; ++set) {
        kept.bias[set] = mg::to_float(bias[set * outputs + output]);
      }
    }
    if constexpr (kHasResidual) {
      kept.residual = mg::to_float(residual[row * residual_stride + output]);
    }
    return kept;
  }

  __device__ __forceinline__ void finish(const Kept& kept, int row, int output,
                                         const float (&sums)[kSets]) const {
    float value = sums[0] + kept.bias[0];
    if constexpr (kGelu) value = gelu_tanh(value);
    if constexpr (kGate) value *= mg::sigmoid<Y>(value).value * (sums[1] + kept.bias[1]);
    y[row * y_stride + output] = mg::from_float<Y>(value + kept.residual);
  }

  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))). 1 + tanh(a) is 2 * sigmoid(2 * a).
  static __device__ __forceinline__ float gelu_tanh(float x) {
    return x * mg::sigmoid<Y>(1.59576912f * x * (1.0f + 0.044715f * x * x)).value;
  }
};
