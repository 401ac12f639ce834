// Rows: one thread's work in backward.cu. It loads rows ahead, computes their part of dx, and adds
// up dw. backward.cu explains the algorithm.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster_sums.cuh>
#include <mg/convert.cuh>
#include <mg/group_sum.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "backward_tiling.cuh"

// One thread's part of the rows of its block. It holds the weights of its columns, their sums for
// dw, and the rows that are being loaded.
template <class K>
class Rows {
 public:
  using T = typename K::T;
  using W = typename K::W;
  using Vector = typename K::Vector;
  static constexpr int kAtOnce = K::kRowsAtOnce;
  static constexpr int kScratch =
      mg::group_sum_floats<K::kThreadsPerRow, K::kRowsPerBlock, kAtOnce>();
  using ClusterSums = mg::ClusterSums<K::kThreads, K::kCluster, kAtOnce>;

  __device__ __forceinline__ Rows(const Gradients<T, W>& in, int first_column)
      : in_(in),
        first_column_(first_column),
        lane_(static_cast<int>(threadIdx.x) % K::kThreadsPerRow),
        group_(static_cast<int>(threadIdx.x) / K::kThreadsPerRow),
        first_row_(mg::i64{blockIdx.x / K::kCluster} * K::kRowsPerBlock + group_),
        stride_(mg::i64{gridDim.x / K::kCluster} * K::kRowsPerBlock) {
    for_each_vector<K>(lane_, [&](int step, int column) {
      const auto loaded = mg::load_pieces<K::kVec>(in.weight + first_column + column);
#pragma unroll
      for (int i = 0; i < K::kVec; ++i) {
        weight_[step * K::kVec + i] = in.weight_offset + mg::to_float(loaded[i]);
      }
    });
    if constexpr (K::kHasDw) {
#pragma unroll
      for (int i = 0; i < K::kElements; ++i) dw_[i] = 0.0f;
    }
  }

  // Processes all rows of the block. `scratch` is 2 * kScratch floats of shared memory.
  __device__ __forceinline__ void process_all(float* scratch) {
    if constexpr (K::kLoad == LOAD::ldg) {
      process_from_registers(scratch);
    } else {
      process_from_shared(scratch);
    }
  }

  // The same with cp_async for the rows of a cluster. dx is written while the sums of the next rows
  // travel through the cluster.
  __device__ __forceinline__ void process_in_cluster(ClusterSums cluster_sums) {
    constexpr int kAhead = K::kStages - 2;
    static_assert(K::kRowsPerBlock == 1 && K::kLoad == LOAD::cp_async && kAhead >= 1);
    Copies copies;
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) {
      copy(first_row_ + stage * kAtOnce * stride_, stage, copies);
    }
    float next_rstd[kAtOnce], last_rstd[kAtOnce], means[kAtOnce];
    load_rstd(first_row_, next_rstd);
    __syncwarp();
    cluster_sums.begin();
    int stage = 0, last_stage = 0;
    mg::i64 row = first_row_;
    for (; row < in_.rows; row += kAtOnce * stride_) {
      const int free_stage = stage + kAhead < K::kStages ? stage + kAhead : stage - 2;
      copy(row + kAhead * kAtOnce * stride_, free_stage, copies);
      float rstd[kAtOnce], sums[kAtOnce];
      advance_rstd(row, next_rstd, rstd);
      copies.template wait<kAhead>();
      accumulate(row, rstd, in_stage(stage), sums);
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) sums[r] = mg::sum_of_lanes<32>(sums[r]);
      cluster_sums.send(sums);
      if (row != first_row_) {
        write_dx(row - kAtOnce * stride_, last_rstd, means, in_stage(last_stage));
      }
      cluster_sums.receive(means);
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        means[r] *= 1.0f / K::kHidden;
        last_rstd[r] = rstd[r];
      }
      last_stage = stage;
      stage = stage == K::kStages - 1 ? 0 : stage + 1;
    }
    if (row != first_row_) {
      write_dx(row - kAtOnce * stride_, last_rstd, means, in_stage(last_stage));
    }
    copies.template wait<0>();
  }

  // Writes the block's sums for dw as a row of the partial sums. A block of a cluster writes its
  // slice of the cluster's row.
  __device__ __forceinline__ void write_partials() const {
    float* const to =
        in_.partials + mg::i64{blockIdx.x / K::kCluster} * K::kPartialRow + first_column_;
    if constexpr (K::kRowsPerBlock == 1) {
      for_each_vector<K>(lane_, [&](int step, int column) { put(step, to + column); });
    } else {
      float* const sums = mg::dynamic_shared<float>();
      __syncthreads();
      for_each_vector<K>(
          lane_, [&](int step, int column) { put(step, sums + group_ * K::kPartialRow + column); });
      __syncthreads();
      for (int column = static_cast<int>(threadIdx.x); column < K::kHidden; column += K::kThreads) {
        float sum = 0.0f;
#pragma unroll
        for (int group = 0; group < K::kRowsPerBlock; ++group) {
          sum += sums[group * K::kPartialRow + column];
        }
        to[column] = sum;
      }
    }
  }

 private:
  enum Input { kDy, kX, kDresidual };
  using Copies = mg::AsyncCopies<K::kStages * kAtOnce * K::kInputs * K::kSteps>;

  __device__ __forceinline__ const T* source(int input, mg::i64 row) const {
    if (input == kDy) return in_.dy + row * K::kHidden + first_column_;
    if (input == kX) return in_.x + row * in_.x_stride + first_column_;
    return in_.dresidual + row * K::kHidden + first_column_;
  }

  // Calls visit(r, row) for the rows `first`, first + stride, ..., as far as they exist.
  template <class Visit>
  __device__ __forceinline__ void for_each_row(mg::i64 first, const Visit& visit) const {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const mg::i64 row = first + r * stride_;
      if (row < in_.rows) visit(r, row);
    }
  }

  // Computes the thread's part of sum(g * xhat) of each row, and adds to its sums for dw.
  // at(r, input, step) returns the thread's vector of an input.
  template <class At>
  __device__ __forceinline__ void accumulate(mg::i64 first, const float (&rstd)[kAtOnce],
                                             const At& at, float (&sums)[kAtOnce]) {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) sums[r] = 0.0f;
    for_each_row(first, [&](int r, mg::i64) {
      float sum = 0.0f;
      for_each_vector<K>(lane_, [&](int step, int) {
        float dy[K::kVec], x[K::kVec], part = 0.0f;
        mg::to_floats(at(r, kDy, step), dy);
        mg::to_floats(at(r, kX, step), x);
#pragma unroll
        for (int i = 0; i < K::kVec; ++i) {
          const float product = dy[i] * x[i];
          if constexpr (K::kHasDw) dw_[step * K::kVec + i] += product * rstd[r];
          part += product * weight_[step * K::kVec + i];
        }
        sum += part;
      });
      sums[r] = sum * rstd[r];
    });
  }

  template <class At>
  __device__ __forceinline__ void write_dx(mg::i64 first, const float (&rstd)[kAtOnce],
                                           const float (&means)[kAtOnce], const At& at) const {
    for_each_row(first, [&](int r, mg::i64 row) {
      T* const dx_row = in_.dx + row * K::kHidden + first_column_;
      const float of_x = rstd[r] * means[r];
      for_each_vector<K>(lane_, [&](int step, int column) {
        float dy[K::kVec], x[K::kVec], dx[K::kVec];
        mg::to_floats(at(r, kDy, step), dy);
        mg::to_floats(at(r, kX, step), x);
#pragma unroll
        for (int i = 0; i < K::kVec; ++i) {
          dx[i] = rstd[r] * (dy[i] * weight_[step * K::kVec + i] - x[i] * of_x);
        }
        if constexpr (K::kHasResidual) {
          float dresidual[K::kVec];
          mg::to_floats(at(r, kDresidual, step), dresidual);
#pragma unroll
          for (int i = 0; i < K::kVec; ++i) dx[i] += dresidual[i];
        }
        mg::store_hinted<K::kVec, mg::Cache::normal>(dx_row + column, mg::from_floats<T>(dx));
      });
    });
  }

  // Processes kAtOnce rows. All threads of the group call it.
  template <class At>
  __device__ __forceinline__ void process(mg::i64 first, const float (&rstd)[kAtOnce],
                                          float* scratch, const At& at) {
    float sums[kAtOnce];
    accumulate(first, rstd, at, sums);
    mg::group_sums<K::kThreadsPerRow, K::kRowsPerBlock>(sums, scratch + turn_);
    turn_ = kScratch - turn_;  // Two scratch areas take turns, so one barrier is enough.
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) sums[r] *= 1.0f / K::kHidden;
    write_dx(first, rstd, sums, at);
  }

  // The rows of one stage in registers.
  struct Loaded {
    Vector inputs[kAtOnce][K::kInputs][K::kSteps];
    float rstd[kAtOnce];
  };

  __device__ __forceinline__ void load(mg::i64 first, Loaded& to) const {
    for_each_row(first, [&](int r, mg::i64 row) {
      to.rstd[r] = in_.rstd[row];
      for_each_vector<K>(lane_, [&](int step, int column) {
#pragma unroll
        for (int input = 0; input < K::kInputs; ++input) {
          to.inputs[r][input][step] = mg::load<K::kVec>(source(input, row) + column);
        }
      });
    });
  }

  __device__ __forceinline__ void process_from_registers(float* scratch) {
    Loaded stages[K::kStages];
    mg::i64 row = first_row_;
#pragma unroll
    for (int stage = 0; stage < K::kStages; ++stage) {
      load(row + stage * kAtOnce * stride_, stages[stage]);
    }
    while (row < in_.rows) {
#pragma unroll
      for (int stage = 0; stage < K::kStages; ++stage) {
        if (row < in_.rows) {
          const Loaded& from = stages[stage];
          process(row, from.rstd, scratch,
                  [&](int r, int input, int step) { return from.inputs[r][input][step]; });
          load(row + K::kStages * kAtOnce * stride_, stages[stage]);
        }
        row += kAtOnce * stride_;
      }
    }
  }

  // Where a vector of this thread lies in shared memory.
  __device__ __forceinline__ T* place(int stage, int r, int input, int step) const {
    const int at = ((stage * K::kRowsPerBlock + group_) * kAtOnce + r) * K::kInputs + input;
    return mg::dynamic_shared<T>() + (at * K::kSteps + step) * K::kStep + lane_ * K::kVec;
  }

  __device__ __forceinline__ auto in_stage(int stage) const {
    return [this, stage](int r, int input, int step) {
      return mg::load<K::kVec>(place(stage, r, input, step));
    };
  }

  __device__ __forceinline__ void copy(mg::i64 first, int stage, Copies& copies) const {
    for_each_row(first, [&](int r, mg::i64 row) {
      for_each_vector<K>(lane_, [&](int step, int column) {
#pragma unroll
        for (int input = 0; input < K::kInputs; ++input) {
          copies.template copy<K::kVec* static_cast<int>(sizeof(T))>(place(stage, r, input, step),
                                                                     source(input, row) + column);
        }
      });
    });
    copies.end_group();
  }

  __device__ __forceinline__ void load_rstd(mg::i64 first, float (&to)[kAtOnce]) const {
    for_each_row(first, [&](int r, mg::i64 row) { to[r] = in_.rstd[row]; });
  }

  // Moves the rstd that were loaded for these rows from `next` to `to`, and loads those of the next
  // rows into `next`.
  __device__ __forceinline__ void advance_rstd(mg::i64 first, float (&next)[kAtOnce],
                                               float (&to)[kAtOnce]) const {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) to[r] = next[r];
    load_rstd(first + kAtOnce * stride_, next);
  }

  __device__ __forceinline__ void process_from_shared(float* scratch) {
    constexpr int kAhead = K::kStages - 1;  // the stages in flight while one stage is processed
    Copies copies;
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) {
      copy(first_row_ + stage * kAtOnce * stride_, stage, copies);
    }
    float next_rstd[kAtOnce];
    load_rstd(first_row_, next_rstd);
    int stage = 0;
    for (mg::i64 row = first_row_; row < in_.rows; row += kAtOnce * stride_) {
      // Copies into the stage of the previous rows. Each thread overwrites only what it read
      // itself, so no barrier is needed.
      copy(row + kAhead * kAtOnce * stride_, stage == 0 ? kAhead : stage - 1, copies);
      float rstd[kAtOnce];
      advance_rstd(row, next_rstd, rstd);
      copies.template wait<kAhead>();
      process(row, rstd, scratch, in_stage(stage));
      stage = stage == kAhead ? 0 : stage + 1;
    }
    copies.template wait<0>();
  }

  // Stores the sums for dw of one vector's columns to global or shared memory.
  __device__ __forceinline__ void put(int step, float* to) const {
    constexpr int kPiece = K::kVec < 4 ? K::kVec : 4;
#pragma unroll
    for (int i = 0; i < K::kVec; i += kPiece) {
      mg::Vec<float, kPiece> sums;
#pragma unroll
      for (int j = 0; j < kPiece; ++j) sums.data[j] = dw_[step * K::kVec + i + j];
      mg::store<kPiece>(to + i, sums);
    }
  }

  const Gradients<T, W>& in_;
  const int first_column_, lane_, group_;
  const mg::i64 first_row_, stride_;  // the rows that the thread's group processes
  int turn_ = 0;
  float weight_[K::kElements];
  float dw_[K::kHasDw ? K::kElements : 1];
};
