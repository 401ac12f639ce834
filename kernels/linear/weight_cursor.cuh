// Where the next loads of a warp are in a matrix of weights. Loads run ahead of the products: while
// a warp adds up one turn, its loads may be in a later one.
//
//   WeightCursor<S, Weights> next(weights);
//   next.visit([&](int set, int i, const T* vector) {...});
//
// visit() passes on the lane's vectors of the next step, if there are any more, and goes on to the
// following step. row_stream.cuh says what sets, outputs, turns and steps are. Outputs that do not
// exist have the weights of the last one. When a warp has visited all steps, it lets the next grid
// start, if S::kLetsNextStart is set.

#pragma once

#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>

template <class S, class Weights>
class WeightCursor {
  using T = typename S::T;

 public:
  __device__ __forceinline__ explicit WeightCursor(const Weights& weights)
      : weights_(weights),
        steps_((weights.columns + S::kStep * S::kSplit * S::kRound - 1) /
               (S::kStep * S::kSplit * S::kRound) * S::kRound) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    // Neighbouring groups are in different blocks, so that the last turn is spread over the blocks.
    first_ = (warp / S::kSplit * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)) *
             S::kOutputs;
    turn_ = S::kGroups * static_cast<int>(gridDim.x) * S::kOutputs;
    own_column_ = warp % S::kSplit * S::kStep + lane * S::kVec;
    go_to(first_);
  }

  __device__ __forceinline__ int first_output() const { return first_; }
  __device__ __forceinline__ int turn() const { return turn_; }    // outputs from turn to turn
  __device__ __forceinline__ int steps() const { return steps_; }  // of a warp in a turn
  __device__ __forceinline__ int part() const { return own_column_ / S::kStep; }
  __device__ __forceinline__ int column(int step) const {
    return own_column_ + step * (S::kStep * S::kSplit);
  }

  // The columns of a row from the lane's place in the next step on. 0 or fewer: there are no more.
  __device__ __forceinline__ int columns_left() const { return weights_.columns - column_; }

  template <class Visit>
  __device__ __forceinline__ void visit(const Visit& visit) {
    if (output_ < weights_.outputs && column_ < weights_.columns) {
      const int last = weights_.outputs - 1 - output_;
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) {
#pragma unroll
        for (int i = 0; i < S::kOutputs; ++i) {
          visit(set, i, rows_[set] + (i < last ? i : last) * weights_.row_step + column_);
        }
      }
    }
    column_ += S::kStep * S::kSplit;
    if (--steps_left_ == 0) go_to(output_ + turn_);
  }

 private:
  __device__ __forceinline__ void go_to(int output) {
    output_ = output;
    column_ = own_column_;
    steps_left_ = steps_;
    if (output >= weights_.outputs) {
      if constexpr (S::kLetsNextStart) mg::let_next_grid_start();
      return;
    }
#pragma unroll
    for (int set = 0; set < S::kSets; ++set) rows_[set] = weights_.first_row(set, output);
  }

  const Weights weights_;
  const int steps_;  // including steps past the last column
  int first_, turn_, own_column_;
  int output_, column_, steps_left_;  // of the next loads
  const T* rows_[S::kSets];
};
