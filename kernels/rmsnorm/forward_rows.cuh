// rmsnorm.forward and rmsnorm.add_forward for designs row, cluster and reread: normalizes the rows
// of a thread, which stay in registers (normalize_held) or are read again (normalize_reread).
// forward.cu explains the designs.

#pragma once

#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/row_norm.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using LOAD = mg::Cache;
using STORE = mg::Cache;

// The constants of a variant. A row has kThreadsPerRow threads in each block of its cluster.
template <class T_, class W_, int kHidden_, int kThreadsPerRow_, int kRowsPerBlock_,
          int kRowsPerThread_, int kCluster_, int kVec_, bool kHeld_, LOAD kLoad_, STORE kStore_,
          bool kEarly_, bool kPdl_>
struct Shape {
  using T = T_;
  using W = W_;
  static constexpr int kHidden = kHidden_, kThreadsPerRow = kThreadsPerRow_,
                       kRowsPerBlock = kRowsPerBlock_, kRowsPerThread = kRowsPerThread_,
                       kCluster = kCluster_, kVec = kVec_;
  static constexpr bool kHeld = kHeld_, kEarly = kEarly_, kPdl = kPdl_;
  static constexpr LOAD kLoad = kLoad_;
  static constexpr STORE kStore = kStore_;

  static constexpr int kThreads = kThreadsPerRow * kRowsPerBlock;
  static constexpr int kStep = kThreadsPerRow * kCluster * kVec;  // columns covered at once
  static constexpr int kSteps = (kHidden + kStep - 1) / kStep;
  static constexpr int kUnroll = kHeld ? kSteps : 4;
  // The hint for residual. no_allocate was never measured for it, so streaming stands in.
  static constexpr LOAD kLoadOfResidual = kLoad == LOAD::no_allocate ? LOAD::streaming : kLoad;

  // The registers that hold data while the sum is computed. If they leave room, the launch bounds
  // ask for 1024 threads per SM, which is 64 registers per thread. Otherwise the compiler takes a
  // few more than it needs.
  static constexpr int kHeldRegisters =
      kHeld ? kSteps * kVec *
                  static_cast<int>(kRowsPerThread * sizeof(T) + (kEarly ? sizeof(W) : 0)) / 4
            : 0;

  static_assert(kVec * sizeof(T) <= 16, "one load is at most 16 bytes");
  static_assert(kHidden % kVec == 0, "every row begins on a whole vector");
  static_assert(kThreads >= 32 && kThreads <= 1024, "a block is 1 to 32 warps");
  static_assert(kSteps * kVec * kRowsPerThread <= (kHeld ? 64 : 512), "too much for one thread");
  static_assert(kHeld || (!kEarly && kRowsPerThread == 1), "rereading holds nothing");
  static_assert(kRowsPerThread == 1 || kThreadsPerRow <= 32, "one sum at a time in shared memory");
  static_assert(kCluster == 1 || kRowsPerBlock * kRowsPerThread == 1, "a cluster has one row");
};

// Calls visit(step, column) for each vector that thread `lane` owns in a row. Only the last step
// can reach past the end of the row, so only the last step is guarded. The loads of the other steps
// are then issued together.
template <class S, class Visit>
__device__ __forceinline__ void for_each_vector(int lane, const Visit& visit) {
  constexpr int kWholeSteps = S::kHidden / S::kStep;
#pragma unroll S::kUnroll
  for (int step = 0; step < kWholeSteps; ++step) visit(step, step * S::kStep + lane * S::kVec);
  if constexpr (S::kHidden % S::kStep != 0) {
    const int column = kWholeSteps * S::kStep + lane * S::kVec;
    if (column < S::kHidden) visit(kWholeSteps, column);
  }
}

// Returns the sum of `value` over the threads of a row.
template <class S>
__device__ __forceinline__ float row_sum(float value) {
  if constexpr (S::kCluster > 1) {
    MG_SHARED(float, slots, [mg::cluster_sum_floats<S::kThreads, S::kCluster>()]);
    return mg::cluster_sum<S::kThreads, S::kCluster>(value, slots);
  } else {
    MG_SHARED(float, scratch, [mg::sum_scratch_floats<S::kThreadsPerRow, S::kRowsPerBlock>()]);
    return mg::sum<S::kThreadsPerRow>(value, scratch);
  }
}

// The tensors of a launch. residual and residual_out are null in rmsnorm.forward.
template <class S>
struct Tensors {
  const typename S::T* x;
  const typename S::T* residual;
  const typename S::W* weight;
  typename S::T* y;
  typename S::T* residual_out;
  float* rstd;
};

// Normalizes the rows of a thread and holds them in registers. The rows are first_row and every
// kRowsPerBlock-th row after it, so that neighbouring groups always work on neighbouring rows.
template <class S, bool kAdd>
__device__ __forceinline__ void normalize_held(const Tensors<S>& at, int lane, mg::i64 first_row,
                                               mg::i64 rows, mg::i64 x_stride, float eps,
                                               float weight_offset, float* scales) {
  using T = typename S::T;
  using W = typename S::W;
  constexpr int kVec = S::kVec, kRows = S::kRowsPerThread;

  mg::Vec<T, kVec> held[kRows][S::kSteps];
  mg::Vec<T, kVec> added[kAdd ? kRows : 1][kAdd ? S::kSteps : 1];
  mg::Pieces<W, kVec> weight[S::kEarly ? S::kSteps : 1];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const mg::i64 row = first_row + i * S::kRowsPerBlock;
    if (row >= rows) continue;
    for_each_vector<S>(lane, [&](int step, int column) {
      held[i][step] = mg::load_hinted<kVec, S::kLoad>(at.x + row * x_stride + column);
      if constexpr (kAdd) {
        added[i][step] =
            mg::load_hinted<kVec, S::kLoadOfResidual>(at.residual + row * S::kHidden + column);
      }
    });
  }
  if constexpr (S::kEarly) {
    for_each_vector<S>(lane, [&](int step, int column) {
      weight[step] = mg::load_pieces<kVec>(at.weight + column);
    });
  }

  float squares[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const mg::i64 row = first_row + i * S::kRowsPerBlock;
    squares[i] = 0.0f;
    if (row >= rows) continue;
    for_each_vector<S>(lane, [&](int step, int column) {
      if constexpr (kAdd) {
        held[i][step] = mg::sum_of(held[i][step], added[i][step]);
        mg::store_hinted<kVec, S::kStore>(at.residual_out + row * S::kHidden + column,
                                          held[i][step]);
      }
      squares[i] += mg::sum_of_squares(held[i][step]);
    });
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    scales[i] = mg::rsqrt(row_sum<S>(squares[i]) * (1.0f / S::kHidden) + eps);
  }

#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const mg::i64 row = first_row + i * S::kRowsPerBlock;
    if (row >= rows) continue;
    for_each_vector<S>(lane, [&](int step, int column) {
      mg::Pieces<W, kVec> w;
      if constexpr (S::kEarly) {
        w = weight[step];
      } else {
        w = mg::load_pieces<kVec>(at.weight + column);
      }
      mg::store_hinted<kVec, S::kStore>(at.y + row * S::kHidden + column,
                                        mg::scaled(held[i][step], w, weight_offset, scales[i]));
    });
  }
}

// Normalizes one row and reads it again after the sum. The tensor that is read twice is x, or
// residual_out for add_forward. Its first access leaves it in the caches; the second access lets
// the caches drop it (LOAD).
template <class S, bool kAdd>
__device__ __forceinline__ void normalize_reread(const Tensors<S>& at, int lane, mg::i64 row,
                                                 mg::i64 rows, mg::i64 x_stride, float eps,
                                                 float weight_offset, float* scales) {
  using T = typename S::T;
  constexpr int kVec = S::kVec;
  const bool active = row < rows;
  const T* const x_row = at.x + (active ? row : 0) * x_stride;
  const mg::i64 first = (active ? row : 0) * S::kHidden;

  float squares = 0.0f;
  if (active) {
    for_each_vector<S>(lane, [&](int, int column) {
      mg::Vec<T, kVec> value;
      if constexpr (kAdd) {
        value = mg::sum_of(mg::load<kVec>(x_row + column),
                           mg::load_hinted<kVec, S::kLoad>(at.residual + first + column));
        mg::store_hinted<kVec, STORE::normal>(at.residual_out + first + column, value);
      } else {
        value = mg::load<kVec>(x_row + column);
      }
      squares += mg::sum_of_squares(value);
    });
  }
  scales[0] = mg::rsqrt(row_sum<S>(squares) * (1.0f / S::kHidden) + eps);
  if (active) {
    for_each_vector<S>(lane, [&](int, int column) {
      const T* const again = kAdd ? at.residual_out + first + column : x_row + column;
      const mg::Vec<T, kVec> value = mg::load_hinted<kVec, S::kLoad>(again);
      mg::store_hinted<kVec, S::kStore>(
          at.y + first + column,
          mg::scaled(value, mg::load_pieces<kVec>(at.weight + column), weight_offset, scales[0]));
    });
  }
}

template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize(const Tensors<S>& at, mg::i64 rows, mg::i64 x_stride,
                                          float eps, float weight_offset, mg::u32 pdl_blocks) {
  int lane = static_cast<int>(threadIdx.x) % S::kThreadsPerRow;
  if constexpr (S::kCluster > 1) {
    mg::cluster_arrive();
    lane += static_cast<int>(mg::cluster_rank()) * S::kThreadsPerRow;
  }
  const mg::i64 first_row =
      mg::i64{blockIdx.x / S::kCluster} * (S::kRowsPerBlock * S::kRowsPerThread) +
      static_cast<int>(threadIdx.x) / S::kThreadsPerRow;
  if constexpr (S::kPdl) {
    mg::let_next_grid_start();
    if (blockIdx.x < pdl_blocks && first_row < rows) {
      for_each_vector<S>(lane, [&](int, int column) {
        mg::prefetch_to_l2(at.x + first_row * x_stride + column);
        if constexpr (kAdd) mg::prefetch_to_l2(at.residual + first_row * S::kHidden + column);
        if (first_row == 0) {  // If every block prefetched it, the requests would queue in L2.
          mg::prefetch_to_l2(at.weight + column);
        }
      });
    }
    mg::wait_for_previous_grid();
  }
  float scales[S::kRowsPerThread];
  if constexpr (S::kHeld) {
    normalize_held<S, kAdd>(at, lane, first_row, rows, x_stride, eps, weight_offset, scales);
  } else {
    normalize_reread<S, kAdd>(at, lane, first_row, rows, x_stride, eps, weight_offset, scales);
  }
  if constexpr (kHasRstd) {
#pragma unroll
    for (int i = 0; i < S::kRowsPerThread; ++i) {
      const mg::i64 row = first_row + i * S::kRowsPerBlock;
      if (lane == 0 && row < rows) at.rstd[row] = scales[i];
    }
  }
}
