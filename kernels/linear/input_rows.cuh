// The rows of x as the products of this family read them: in fp32, and normalized if the problem
// asks for it. Every block computes the norm by itself. That costs it a few reads of x from L2, and
// saves a kernel and a wait for it.
//
//   InputRows<S> input(source);
//   input.prepare();                     every thread of the block; there are barriers inside
//   float x[S::kVec];
//   input.read(row, column, x);          columns column ... column + kVec - 1 of a row
//   y = sum_of_products * input.scale(row);
//
// shared    prepare() writes all rows to shared memory in fp32, once per block.
// direct    read() loads x from the caches and normalizes it, each time. This serves rows that are
//           too wide for shared memory.
//
// An RMSNorm divides a whole row by one number. So read() returns x * weight, and scale() returns
// the factor for the sums of products: the products need not wait for the sum of squares. A
// LayerNorm subtracts the mean first, because large sums of products that cancel would lose digits.
//
// Numerics  The sums of a norm are fp32, in a fixed order: a thread adds up its elements of a row,
//           then the lanes of a warp, then the warps. The variance is the mean of the squared
//           distances from the mean.

#pragma once

#include <mg/convert.cuh>
#include <mg/math.cuh>
#include <mg/shared.cuh>
#include <mg/vec.cuh>

#include "input_source.cuh"

// The dynamic shared memory after the rows.
template <class S>
__device__ __forceinline__ unsigned char* behind_input(int columns) {
  return mg::dynamic_shared<unsigned char>() +
         (S::kInput == INPUT::shared ? 4 * S::kRows * columns : 0);
}

template <class S>
class InputRows {
  static constexpr int kRows = S::kRows, kVec = S::kVec, kWarps = S::kThreads / 32;
  static constexpr bool kIsShared = S::kInput == INPUT::shared;

 public:
  // Uses columns * kRows floats of the dynamic shared memory, if the rows are kept there.
  __device__ __forceinline__ explicit InputRows(const InputSource<S>& source)
      : source_(source), held_(mg::dynamic_shared<float>()) {}

  __device__ __forceinline__ void prepare() {
    float sums[kRows] = {};
    const auto visit = [&](int row, int column, float(&values)[kVec],
                           const NormWeights<S>& weights) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        if constexpr (S::kNorm == Norm::rms) sums[row] += values[i] * values[i];
        if constexpr (S::kNorm == Norm::layer) sums[row] += values[i];
      }
      if constexpr (!kIsShared) return;
      if constexpr (S::kNorm == Norm::rms) multiply<S>(values, weights);
      put(row, column, values);
    };
    for_each_loaded<S, 64, kIsShared && S::kNorm == Norm::rms>(source_, visit);
    if constexpr (S::kNorm == Norm::layer) {
      subtract_means(sums);
    } else if constexpr (S::kNorm == Norm::rms) {
      MG_SHARED(float, squares, [kWarps * kRows]);
      add_up<S>(sums, squares);
      set_scales(sums);
    } else {
      __syncthreads();
    }
  }

  __device__ __forceinline__ void read(int row, int column, float (&values)[kVec]) const {
    if constexpr (kIsShared) {
      get(row, column, values);
    } else {
      load(row, column, values);
      if constexpr (S::kNorm == Norm::rms) {
        multiply<S>(values, mg::load_pieces<kVec>(source_.weight + column));
      }
      if constexpr (S::kNorm == Norm::layer) normalize(row, column, values);
    }
  }

  // `row` is a constant if this is called in an unrolled loop.
  __device__ __forceinline__ float scale(int row) const {
    if constexpr (S::kNorm != Norm::rms) return 1.0f;
    float scale = scale_[0];
#pragma unroll
    for (int i = 1; i < kRows; ++i) {
      if (i == row) scale = scale_[i];
    }
    return scale;
  }

 private:
  template <class Visit>
  __device__ __forceinline__ void for_each_vector(const Visit& visit) const {
    for (int column = static_cast<int>(threadIdx.x) * kVec; column < source_.columns;
         column += S::kThreads * kVec) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) visit(row, column);
    }
  }

  __device__ __forceinline__ void load(int row, int column, float (&values)[kVec]) const {
    mg::to_floats(mg::load_pieces<kVec>(source_.x + row * source_.stride + column), values);
  }

  // A vector of 8 lies in two places of 4, half a row apart. So neighbouring lanes read
  // neighbouring 16 bytes, without bank conflicts.
  __device__ __forceinline__ float* place(int row, int column) const {
    return held_ + row * source_.columns + (kVec == 8 ? column / 2 : column);
  }

  __device__ __forceinline__ void put(int row, int column, const float (&values)[kVec]) const {
    float* const to = place(row, column);
    if constexpr (kVec == 1) {
      *to = values[0];
    } else {
#pragma unroll
      for (int i = 0; i < kVec; i += 4) {
        *reinterpret_cast<float4*>(to + i / 4 * (source_.columns / 2)) =
            make_float4(values[i], values[i + 1], values[i + 2], values[i + 3]);
      }
    }
  }

  __device__ __forceinline__ void get(int row, int column, float (&values)[kVec]) const {
    const float* const from = place(row, column);
    if constexpr (kVec == 1) {
      values[0] = *from;
    } else {
#pragma unroll
      for (int i = 0; i < kVec; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(from + i / 4 * (source_.columns / 2));
        values[i] = four.x, values[i + 1] = four.y, values[i + 2] = four.z, values[i + 3] = four.w;
      }
    }
  }

  __device__ __forceinline__ void set_scales(const float (&squares)[kRows]) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      scale_[row] = mg::rsqrt(squares[row] / static_cast<float>(source_.columns) + source_.eps);
    }
  }

  __device__ __forceinline__ void normalize(int row, int column, float (&values)[kVec]) const {
    float weights[kVec], biases[kVec] = {};
    mg::to_floats(mg::load_pieces<kVec>(source_.weight + column), weights);
    if constexpr (S::kHasNormBias) {
      mg::to_floats(mg::load_pieces<kVec>(source_.bias + column), biases);
    }
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      values[i] = (values[i] - mean_[row]) * scale_[row] * weights[i] + biases[i];
    }
  }

  // A thread reads again only what it has written itself.
  __device__ __forceinline__ void subtract_means(float (&sums)[kRows]) {
    MG_SHARED(float, all_sums, [kWarps * kRows]);
    MG_SHARED(float, all_squares, [kWarps * kRows]);
    add_up<S>(sums, all_sums);
    float squares[kRows] = {};
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      mean_[row] = sums[row] / static_cast<float>(source_.columns);
    }
    for_each_vector([&](int row, int column) {
      float values[kVec];
      if constexpr (kIsShared) {
        get(row, column, values);
      } else {
        load(row, column, values);
      }
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        squares[row] += (values[i] - mean_[row]) * (values[i] - mean_[row]);
      }
    });
    add_up<S>(squares, all_squares);
    set_scales(squares);
    if constexpr (kIsShared) {
      for_each_vector([&](int row, int column) {
        float values[kVec];
        get(row, column, values);
        normalize(row, column, values);
        put(row, column, values);
      });
      __syncthreads();
    }
  }

  const InputSource<S> source_;
  float* const held_;
  float mean_[kRows], scale_[kRows];
};
