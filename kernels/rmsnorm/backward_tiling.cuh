// The arguments of the kernels of backward.cu, and the constants of their variants.

#pragma once

#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class LOAD { ldg, cp_async };

// The arguments of the kernels. dresidual is null in rmsnorm.backward.
template <class T, class W>
struct Gradients {
  const T* dy;
  const T* x;
  const W* weight;
  const float* rstd;
  const T* dresidual;
  T* __restrict__ dx;
  float* __restrict__ partials;
  mg::i64 rows, x_stride;
  float weight_offset;
};

// The constants of a variant.
template <class T_, class W_, int kHidden_, int kThreadsPerRow_, int kRowsPerBlock_, int kVec_,
          int kRowsAtOnce_, int kStages_, LOAD kLoad_, int kCluster_, bool kHasDw_,
          bool kHasResidual_>
struct Tiling {
  using T = T_;
  using W = W_;
  using Vector = mg::Vec<T, kVec_>;
  static constexpr int kHidden = kHidden_, kVec = kVec_, kStages = kStages_;
  static constexpr int kThreadsPerRow = kThreadsPerRow_, kRowsPerBlock = kRowsPerBlock_;
  static constexpr int kRowsAtOnce = kRowsAtOnce_, kCluster = kCluster_;
  static constexpr LOAD kLoad = kLoad_;
  static constexpr bool kHasDw = kHasDw_, kHasResidual = kHasResidual_;

  static constexpr int kThreads = kThreadsPerRow * kRowsPerBlock;
  static constexpr int kSlice = kHidden / kCluster;    // columns of a block
  static constexpr int kStep = kThreadsPerRow * kVec;  // columns that a row's threads cover at once
  static constexpr int kSteps = (kSlice + kStep - 1) / kStep;
  static constexpr int kElements = kSteps * kVec;       // a thread's elements of a row
  static constexpr int kInputs = kHasResidual ? 3 : 2;  // dy, x, dresidual
  static constexpr int kPartialRow = (kHidden + 3) / 4 * 4;

  static_assert(kVec * sizeof(T) <= 16, "one access is at most 16 bytes");
  static_assert(kHidden % (kCluster * kVec) == 0, "every slice begins on a whole vector");
  static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is 1 to 32 warps");
  static_assert(kElements <= 32, "too many columns for one thread");
  static_assert(kLoad == LOAD::ldg || kVec * sizeof(T) >= 4, "cp.async copies 4 bytes and up");
};

// Calls visit(step, column) for each vector that thread `lane` owns in a slice. Only the last step
// can reach past the end of the slice, so only the last step is guarded. The loads of the other
// steps are then issued together.
template <class K, class Visit>
__device__ __forceinline__ void for_each_vector(int lane, const Visit& visit) {
  constexpr int kWholeSteps = K::kSlice / K::kStep;
#pragma unroll
  for (int step = 0; step < kWholeSteps; ++step) visit(step, step * K::kStep + lane * K::kVec);
  if constexpr (K::kSlice % K::kStep != 0) {
    const int column = kWholeSteps * K::kStep + lane * K::kVec;
    if (column < K::kSlice) visit(kWholeSteps, column);
  }
}
