// rmsnorm.forward and rmsnorm.add_forward for design bulk: the copy engine brings the row of a
// cluster into shared memory. forward.cu explains the design.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/row_norm.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "forward_rows.cuh"

// The constants of a variant of design bulk. Each block of a cluster has one slice of the row.
template <class T_, class W_, int kHidden, int kCluster_, int kThreads_, STORE kStore_,
          bool kEarly_, bool kPdl_>
struct BulkShape {
  using T = T_;
  using W = W_;
  static constexpr int kCluster = kCluster_, kThreads = kThreads_;
  static constexpr int kVec = static_cast<int>(16 / sizeof(T));
  static constexpr int kSlice = kHidden / kCluster;  // elements
  static constexpr int kSteps = (kSlice + kThreads * kVec - 1) / (kThreads * kVec);
  static constexpr bool kEarly = kEarly_, kPdl = kPdl_;
  static constexpr STORE kStore = kStore_;
  static constexpr int kThreadsPerRow = kThreads, kRowsPerBlock = 1;  // row_sum() reads these
  static constexpr float kInverse = 1.0f / kHidden;

  static_assert(kHidden % (kCluster * kVec) == 0, "slices are copied in units of 16 bytes");
  static_assert(!kEarly || kSteps * kVec <= 64, "too much for one thread");
  static_assert(kSteps <= 32 && kSteps <= kThreads, "each copy of a step is a thread's");
};

// Calls visit(step, column) for each vector that this thread owns in the block's slice.
template <class S, class Visit>
__device__ __forceinline__ void for_each_of_slice(const Visit& visit) {
  constexpr int kStep = S::kThreads * S::kVec;
#pragma unroll
  for (int step = 0; step < S::kSteps; ++step) {
    const int column = step * kStep + static_cast<int>(threadIdx.x) * S::kVec;
    if ((step + 1) * kStep <= S::kSlice || column < S::kSlice) visit(step, column);
  }
}

// Normalizes the row of a cluster.
template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize_bulk(const Tensors<S>& at, mg::i64 hidden,
                                               mg::i64 x_stride, float eps, float weight_offset,
                                               mg::u32 pdl_blocks) {
  using T = typename S::T;
  using W = typename S::W;
  constexpr int kVec = S::kVec;
  T* const held = mg::dynamic_shared<T>();
  T* const added = held + S::kSlice;
  MG_SHARED(mg::CopyBarrier, arrived, [S::kSteps]);  // one for the data of each step

  const mg::i64 row = blockIdx.x / S::kCluster;
  mg::i64 from = 0;
  if constexpr (S::kCluster > 1) from = mg::i64{mg::cluster_rank()} * S::kSlice;
  if constexpr (S::kPdl) {
    mg::let_next_grid_start();
    if (threadIdx.x == 0 && blockIdx.x < pdl_blocks) {
      constexpr unsigned int kBytes = S::kSlice * sizeof(T);
      mg::bulk_prefetch_to_l2(at.x + row * x_stride + from, kBytes);
      if constexpr (kAdd) mg::bulk_prefetch_to_l2(at.residual + row * hidden + from, kBytes);
    }
    mg::wait_for_previous_grid();
  }
  if (threadIdx.x < S::kSteps) {
    constexpr int kStep = S::kThreads * kVec;
    const int step = static_cast<int>(threadIdx.x), column = step * kStep;
    const int count = S::kSlice - column < kStep ? S::kSlice - column : kStep;
    const unsigned int bytes = static_cast<unsigned int>(count) * sizeof(T);
    mg::init(arrived[step], 1);
    mg::publish_init();
    mg::arrive_expecting(arrived[step], bytes * (kAdd ? 2 : 1));
    mg::bulk_load(held + column, at.x + row * x_stride + from + column, bytes, arrived[step]);
    if constexpr (kAdd) {
      mg::bulk_load(added + column, at.residual + row * hidden + from + column, bytes,
                    arrived[step]);
    }
  }
  if constexpr (S::kCluster > 1) mg::cluster_arrive();

  mg::Pieces<W, kVec> weight[S::kEarly ? S::kSteps : 1];
  if constexpr (S::kEarly) {
    for_each_of_slice<S>([&](int step, int column) {
      weight[step] = mg::load_pieces<kVec>(at.weight + from + column);
    });
  }
  __syncthreads();  // now every thread sees the initialized barriers of the copies

  float squares = 0.0f;
  for_each_of_slice<S>([&](int step, int column) {
    mg::wait(arrived[step], 0);
    mg::Vec<T, kVec> value = mg::load<kVec>(held + column);
    if constexpr (kAdd) {
      value = mg::sum_of(value, mg::load<kVec>(added + column));
      mg::store_hinted<kVec, S::kStore>(at.residual_out + row * hidden + from + column, value);
      mg::store<kVec>(held + column, value);
    }
    squares += mg::sum_of_squares(value);
  });
  const float scale = mg::rsqrt(row_sum<S>(squares) * S::kInverse + eps);
  for_each_of_slice<S>([&](int step, int column) {
    mg::Pieces<W, kVec> w;
    if constexpr (S::kEarly) {
      w = weight[step];
    } else {
      w = mg::load_pieces<kVec>(at.weight + from + column);
    }
    mg::store_hinted<kVec, S::kStore>(
        at.y + row * hidden + from + column,
        mg::scaled(mg::load<kVec>(held + column), w, weight_offset, scale));
  });
  if constexpr (kHasRstd) {
    if (threadIdx.x == 0 && from == 0) at.rstd[row] = scale;
  }
}
