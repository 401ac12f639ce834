// Products of a few rows of x with a matrix of weights that is read once, at the memory's speed.
//
//   RowStream<S> stream(weights);          starts the first loads of weights
//   ...wait for x, and prepare it...
//   stream.run(input, epilogue);
//
// The product is cut into outputs: S::kSets rows of w each (1; 2 for gate and up, or for the two
// halves of a rotation). A group of S::kSplit warps computes S::kOutputs neighbouring outputs at a
// time for all rows of x, and the groups of the grid take turns. Warp s of a group reads every
// S::kSplit-th step of the rows of w. A step is 32 vectors, one for each lane.
// The weights of S::kAhead steps are in registers or on their way there. This goes on from one turn
// to the next, so that the memory never waits for a sum. The weights do not depend on the kernel
// before, so the first loads start before the wait for it.
//
// Weights have:
//   const T* first_row(int set, int output)   the row of w of this set and output
//   outputs, columns, row_step                how many there are; the elements between the rows of
//                                             neighbouring outputs of one turn
// An epilogue has:
//   Kept begin(int row, int output)           loads what it needs early
//   void finish(kept, row, output, sums)      gets a sum per set, and writes the output. One lane
//                                             calls it for each row of x and output.
//
// Numerics  Sums are fp32. A lane adds up its products in the order of the columns, then the lanes
//           of a warp are added as a tree, then the warps of a group. So the result does not depend
//           on the grid, and is the same in every run.

#pragma once

#include <mg/cache_hint.cuh>
#include <mg/convert.cuh>
#include <mg/group_sum.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "sum_each.cuh"

__host__ __device__ constexpr int power_of_two_from(int count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

template <class T_, int kRows_, int kSets_, int kThreads_, int kOutputs_, int kVec_, int kAhead_,
          int kSplit_, mg::Cache kCache_>
struct StreamShape {
  using T = T_;
  static constexpr int kRows = kRows_, kSets = kSets_, kThreads = kThreads_, kOutputs = kOutputs_;
  static constexpr int kVec = kVec_, kAhead = kAhead_, kSplit = kSplit_;
  static constexpr mg::Cache kCache = kCache_;
  static constexpr int kWarps = kThreads / 32, kGroups = kWarps / kSplit;
  static constexpr int kStep = 32 * kVec;
  static constexpr int kValues = power_of_two_from(kRows * kOutputs);
  static_assert(kWarps % kSplit == 0 && kValues <= 32, "whole groups; a lane has one sum per set");
};

template <class S, class Weights>
class RowStream {
  using T = typename S::T;
  using Vector = mg::Vec<T, S::kVec>;

 public:
  __device__ __forceinline__ explicit RowStream(const Weights& weights)
      : weights_(weights),
        steps_((weights.columns + S::kStep * S::kSplit * S::kAhead - 1) /
               (S::kStep * S::kSplit * S::kAhead) * S::kAhead) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    // The last turn is spread over the blocks.
    first_ = (warp / S::kSplit * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)) *
             S::kOutputs;
    turn_ = S::kGroups * static_cast<int>(gridDim.x) * S::kOutputs;
    own_column_ = warp % S::kSplit * S::kStep + lane * S::kVec;
    go_to(first_);
#pragma unroll
    for (int i = 0; i < S::kAhead; ++i) load(held_[i]);
  }

  // The row of x for which this thread finishes outputs. S::kRows or more: none.
  __device__ __forceinline__ static int own_row() {
    return static_cast<int>(threadIdx.x) % 32 / S::kOutputs;
  }

  // Every thread of the block calls it, after a barrier behind whatever `input` needs.
  template <class Input, class Epilogue>
  __device__ __forceinline__ void run(const Input& input, const Epilogue& epilogue) {
    MG_SHARED(float, scratch, [2 * S::kWarps * S::kSets * S::kValues]);
    const int lane = static_cast<int>(threadIdx.x) % 32, part = own_column_ / S::kStep;
    const float scale = input.scale(own_row());
    int buffer = 0;
    for (int first = first_; first < weights_.outputs; first += turn_) {
      const int output = first + lane % S::kOutputs;
      const bool finishes = own_row() < S::kRows && output < weights_.outputs && part == 0;
      typename Epilogue::Kept kept{};
      if (finishes) kept = epilogue.begin(own_row(), output);
      float sums[S::kSets][S::kValues] = {};
      for (int step = 0; step < steps_; step += S::kAhead) {
#pragma unroll
        for (int i = 0; i < S::kAhead; ++i) {
          const int column = own_column_ + (step + i) * (S::kStep * S::kSplit);
          if (column < weights_.columns) add(held_[i], input, column, sums);
          load(held_[i]);
        }
      }
      float own[S::kSets];
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) own[set] = sum_each<S::kValues>(sums[set]);
      if constexpr (S::kSplit > 1) {
        add_parts(own, scratch + buffer);
        buffer ^= S::kWarps * S::kSets * S::kValues;
      }
      if (finishes) {
#pragma unroll
        for (int set = 0; set < S::kSets; ++set) own[set] *= scale;
        epilogue.finish(kept, own_row(), output, own);
      }
    }
  }

 private:
  // The next loads are those of the turn that begins with this output.
  __device__ __forceinline__ void go_to(int output) {
    next_output_ = output;
    next_column_ = own_column_;
    steps_left_ = steps_;
    if (output >= weights_.outputs) return;
#pragma unroll
    for (int set = 0; set < S::kSets; ++set) rows_[set] = weights_.first_row(set, output);
  }

  // Loads a step into registers, if there is one. Outputs that do not exist have the weights of the
  // last one.
  __device__ __forceinline__ void load(Vector (&held)[S::kSets][S::kOutputs]) {
    if (next_output_ < weights_.outputs && next_column_ < weights_.columns) {
      const int last = weights_.outputs - 1 - next_output_;
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) {
#pragma unroll
        for (int i = 0; i < S::kOutputs; ++i) {
          const T* const row = rows_[set] + (i < last ? i : last) * weights_.row_step;
          held[set][i] = mg::load_hinted<S::kVec, S::kCache>(row + next_column_);
        }
      }
    }
    next_column_ += S::kStep * S::kSplit;
    if (--steps_left_ == 0) go_to(next_output_ + turn_);
  }

  template <class Input>
  __device__ __forceinline__ static void add(const Vector (&held)[S::kSets][S::kOutputs],
                                             const Input& input, int column,
                                             float (&sums)[S::kSets][S::kValues]) {
    float w[S::kSets][S::kOutputs][S::kVec];
#pragma unroll
    for (int set = 0; set < S::kSets; ++set) {
#pragma unroll
      for (int i = 0; i < S::kOutputs; ++i) mg::to_floats(held[set][i], w[set][i]);
    }
#pragma unroll
    for (int row = 0; row < S::kRows; ++row) {
      float x[S::kVec];
      input.read(row, column, x);
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) {
#pragma unroll
        for (int i = 0; i < S::kOutputs; ++i) {
#pragma unroll
          for (int j = 0; j < S::kVec; ++j) {
            sums[set][row * S::kOutputs + i] += w[set][i][j] * x[j];
          }
        }
      }
    }
  }

  // Adds up the sums of the warps of a group. Only its first warp has them afterwards. Two scratch
  // areas take turns, as in <mg/group_sum.cuh>.
  __device__ __forceinline__ static void add_parts(float (&own)[S::kSets], float* scratch) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    float* const place = scratch + warp * S::kSets * S::kValues + lane;
    if (lane < S::kValues) {
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) place[set * S::kValues] = own[set];
    }
    if constexpr (S::kGroups == 1) {
      __syncthreads();
    } else {
      mg::sync_group<32 * S::kSplit>();
    }
    if (warp % S::kSplit != 0 || lane >= S::kValues) return;
#pragma unroll
    for (int part = 1; part < S::kSplit; ++part) {
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) {
        own[set] += place[(part * S::kSets + set) * S::kValues];
      }
    }
  }

  const Weights weights_;
  const int steps_;  // of a warp in a turn, with those behind the last column
  int first_, turn_, own_column_;
  int next_output_, next_column_, steps_left_;
  const T* rows_[S::kSets];
  Vector held_[S::kAhead][S::kSets][S::kOutputs];
};
