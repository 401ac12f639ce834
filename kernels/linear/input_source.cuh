// x, the input of this family's products: how a block reads it, and the sums of its norms.
//
//   using S = InputShape<X, T, rows, vec, threads, norm, has_norm_bias, input>;
//   const InputSource<S> source{x, norm_weight, norm_bias, columns, stride, eps};
//   for_each_loaded<S, kBytes, kLoadsWeights>(source, [&](int row, int column, values, weights) {
//     ...                              values: S::kVec elements in fp32; weights: those of the norm
//   });
//   add_up<S>(sums, scratch);          each thread's sums of the rows become those of the block
//
// input_rows.cuh and input_parts.cuh keep what is read here in shared memory, each in its own form.
// Numerics  Sums are fp32, in a fixed order: a thread adds up its elements of a row, then the lanes
//           of a warp, then the warps.

#pragma once

#include <mg/convert.cuh>
#include <mg/reduce.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class INPUT { shared, direct };
enum class Norm { none, rms, layer };

// X is the dtype of x, T that of the weights of the norm.
template <class X_, class T_, int kRows_, int kVec_, int kThreads_, Norm kNorm_, bool kHasNormBias_,
          INPUT kInput_>
struct InputShape {
  using X = X_;
  using T = T_;
  static constexpr int kRows = kRows_, kVec = kVec_, kThreads = kThreads_;
  static constexpr Norm kNorm = kNorm_;
  static constexpr bool kHasNormBias = kHasNormBias_;
  static constexpr INPUT kInput = kInput_;
};

template <bool kRmsNorm, bool kLayerNorm>
constexpr __host__ __device__ Norm norm_of() {
  return kRmsNorm ? Norm::rms : kLayerNorm ? Norm::layer : Norm::none;
}

template <class S>
struct InputSource {
  const typename S::X* x;
  const typename S::T *weight, *bias;  // of the norm
  int columns;
  mg::i64 stride;
  float eps;
};

template <class S>
using NormWeights = mg::Pieces<typename S::T, S::kVec>;

// Visits the elements of x that a thread reads, with the weights of the norm if kLoadsWeights.
// Loads of about kBytes are in flight. A row of 8,192 elements is 8 vectors for each of 128
// threads: loaded one after the other they would take 8 latencies of L2, 5 us.
template <class S, int kBytes, bool kLoadsWeights, class Visit>
__device__ __forceinline__ void for_each_loaded(const InputSource<S>& source, const Visit& visit) {
  constexpr int kRows = S::kRows, kVec = S::kVec;
  constexpr int kVisitBytes = kRows * kVec * static_cast<int>(sizeof(typename S::X));
  constexpr int kMost = kBytes / kVisitBytes < 1 ? 1 : kBytes / kVisitBytes;
  constexpr int kInFlight = kMost > 8 ? 8 : kMost;
  constexpr int kStep = S::kThreads * kVec;
  for (int first = static_cast<int>(threadIdx.x) * kVec; first < source.columns;
       first += kInFlight * kStep) {
    mg::Pieces<typename S::X, kVec> held[kInFlight][kRows];
    NormWeights<S> weights[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int column = first + i * kStep;
      if (column >= source.columns) continue;
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        held[i][row] = mg::load_pieces<kVec>(source.x + row * source.stride + column);
      }
      if constexpr (kLoadsWeights) weights[i] = mg::load_pieces<kVec>(source.weight + column);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int column = first + i * kStep;
      if (column >= source.columns) continue;
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        float values[kVec];
        mg::to_floats(held[i][row], values);
        visit(row, column, values, weights[i]);
      }
    }
  }
}

// Replaces each thread's sums by those of the block. `scratch` has a float per warp and row.
template <class S>
__device__ __forceinline__ void add_up(float (&sums)[S::kRows], float* scratch) {
  constexpr int kRows = S::kRows, kWarps = S::kThreads / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    sums[row] = mg::sum_of_lanes<32>(sums[row]);
    if (threadIdx.x % 32 == 0) scratch[warp * kRows + row] = sums[row];
  }
  __syncthreads();
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    sums[row] = 0.0f;
    for (int i = 0; i < kWarps; ++i) sums[row] += scratch[i * kRows + row];
  }
}

template <class S>
__device__ __forceinline__ void multiply(float (&values)[S::kVec], const NormWeights<S>& weights) {
  float factors[S::kVec];
  mg::to_floats(weights, factors);
#pragma unroll
  for (int i = 0; i < S::kVec; ++i) values[i] *= factors[i];
}
