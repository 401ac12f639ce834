// Products of 2 to 8 rows of x with a matrix of weights that is read once, on the tensor cores
// (sm_80, f16 and bf16).
//
//   RowTiles<S, Weights> tiles(weights, ring);      starts the first copies of weights
//   ...wait for x, and prepare it...
//   tiles.run(input, epilogue);                     input: InputParts
//
// Weights and epilogue are those of row_stream.cuh. The rows of a product of mma.sync are 16 rows
// of w, its columns are rows of x. With one set of weights these are 16 outputs. With two sets they
// are 8 rows of each set, so that the sums of an output lie in one lane. A group of S::kSplit warps
// computes S::kTiles such tiles at a time, and the groups of the grid take turns. Warp s of a group
// takes every S::kSplit-th step of 64 columns.
//
// A lane holds rows lane / 4 and lane / 4 + 8 of a tile. It reads 8 consecutive elements of a row
// in one access of 16 bytes. mma.sync wants other elements there, but the order of the products of
// a sum is free, as long as x has the same one: see <mg/gemm_stream.cuh>. Each lane copies exactly
// what it reads, S::kStages steps ahead and on into the next turn. So no warp waits for another
// until the sums of a turn are added up. Weights do not depend on the previous kernel, so the first
// copies start before the wait for it.
//
// Numerics  A step is summed up by the tensor cores, which do not round their sums to nearest. So
//           only 4 products of mma.sync follow each other in a sum, and then it is added to the sum
//           of the warp in fp32. In the end the parts of x are added, then the warps of a group.
//           The order is fixed and does not depend on the grid.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/group_sum.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>

#include "trigger.cuh"

template <class T_, int kSets_, int kThreads_, int kTiles_, int kStages_, int kSplit_,
          TRIGGER kTrigger_, bool kPdl_>
struct TileShape {
  using T = T_;
  static constexpr int kSets = kSets_, kThreads = kThreads_, kTiles = kTiles_;
  static constexpr int kStages = kStages_, kSplit = kSplit_;
  static constexpr bool kLetsNextStart = kPdl_ && kTrigger_ == TRIGGER::last_loads;
  static constexpr int kWarps = kThreads / 32, kGroups = kWarps / kSplit;
  static constexpr int kRows = 2 * kTiles;              // of w, per lane
  static constexpr int kOutputs = 16 * kTiles / kSets;  // of a group in a turn
  static constexpr int kStep = 64;                      // columns
  static constexpr int kCopies = 2 * kRows;             // of a lane in a step
  static_assert(kWarps % kSplit == 0 && (kSets == 1 || kSets == 2), "whole groups");
};

// The weights of a warp, step after step, through its ring in shared memory.
template <class S, class Weights>
class TileRing {
  using T = typename S::T;

 public:
  __device__ __forceinline__ TileRing(const Weights& weights, unsigned char* ring)
      : weights_(weights) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own_ = ring + warp * (S::kStages * S::kCopies * 512) + lane * 16;
    part_ = warp % S::kSplit;
    const int rest = weights.columns - part_ * S::kStep;
    steps_ = rest > 0 ? (rest - 1) / (S::kStep * S::kSplit) + 1 : 0;
    // Neighbouring groups are in different blocks, so that the last turn is spread over the blocks.
    first_ = (warp / S::kSplit * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)) *
             S::kOutputs;
    turn_ = S::kGroups * static_cast<int>(gridDim.x) * S::kOutputs;
    go_to(steps_ > 0 ? first_ : weights.outputs);
    for (int slot = 0; slot < S::kStages; ++slot) copy_next(slot);
  }

  __device__ __forceinline__ int first_output() const { return first_; }
  __device__ __forceinline__ int turn() const { return turn_; }    // outputs from turn to turn
  __device__ __forceinline__ int steps() const { return steps_; }  // of this warp in a turn
  __device__ __forceinline__ int part() const { return part_; }
  __device__ __forceinline__ int column(int step) const {
    return (part_ + step * S::kSplit) * S::kStep;
  }

  // Waits for the next step and starts the copies of a further one in its place. words[u][j] are 8
  // elements of row lane / 4 + 8 * j of the tiles, from column 32 * u + lane % 4 * 8 on.
  __device__ __forceinline__ void take(uint4 (&words)[2][S::kRows]) {
    copies_.template wait<S::kStages - 1>();
#pragma unroll
    for (int i = 0; i < S::kCopies; ++i) {
      words[i / S::kRows][i % S::kRows] = *reinterpret_cast<const uint4*>(place(slot_, i));
    }
    copy_next(slot_);
    slot_ = slot_ == S::kStages - 1 ? 0 : slot_ + 1;
  }

 private:
  __device__ __forceinline__ unsigned char* place(int slot, int copy) const {
    return own_ + (slot * S::kCopies + copy) * 512;
  }

  // Columns that do not exist become zeros.
  __device__ __forceinline__ void copy_next(int slot) {
    if (output_ < weights_.outputs) {
#pragma unroll
      for (int i = 0; i < S::kCopies; ++i) {
        const int column = column_ + i / S::kRows * 32;
        copies_.template copy_or_zero<16>(place(slot, i), rows_[i % S::kRows] + column,
                                          column < weights_.columns);
      }
      column_ += S::kStep * S::kSplit;
      if (--steps_left_ == 0) go_to(output_ + turn_);
    }
    copies_.end_group();
  }

  // Outputs that do not exist have the weights of the last one.
  __device__ __forceinline__ void go_to(int output) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    output_ = output;
    column_ = part_ * S::kStep + lane % 4 * 8;
    steps_left_ = steps_;
    if (output >= weights_.outputs) {
      if constexpr (S::kLetsNextStart) mg::let_next_grid_start();
      return;
    }
#pragma unroll
    for (int j = 0; j < S::kRows; ++j) {
      const int own = output + lane / 4 + j / S::kSets * 8;
      rows_[j] =
          weights_.first_row(j % S::kSets, own < weights_.outputs ? own : weights_.outputs - 1);
    }
  }

  const Weights weights_;
  unsigned char* own_;
  int part_, steps_, first_, turn_;
  int output_, column_, steps_left_;  // of the next copies
  int slot_ = 0;                      // of the next step
  const T* rows_[S::kRows];
  mg::AsyncCopies<S::kStages * S::kCopies> copies_;
};

template <class S, class Weights, class Input>
class RowTiles {
  using T = typename S::T;
  static constexpr int kSlots = Input::kSlots, kInputTiles = Input::kTiles;
  static constexpr int kSums = 16 * S::kTiles * kSlots;  // of a warp in a turn
  // A lane finishes kFinished of a turn's pairs of an output and a row of x.
  static constexpr int kLanes = 32 * S::kSplit, kValues = S::kOutputs * kSlots;
  static constexpr int kFinished = (kValues + kLanes - 1) / kLanes;

 public:
  // `ring` is S::kWarps * S::kStages * S::kCopies * 512 bytes of shared memory.
  __device__ __forceinline__ RowTiles(const Weights& weights, unsigned char* ring)
      : outputs_(weights.outputs), ring_(weights, ring) {}

  // The row of x for which this thread finishes outputs. There may be no such row.
  __device__ __forceinline__ static int own_row() { return static_cast<int>(threadIdx.x) % kSlots; }

  // Every thread of the block calls it, after the barrier of input.prepare().
  template <class Epilogue>
  __device__ __forceinline__ void run(const Input& input, const Epilogue& epilogue) {
    MG_SHARED(float, scratch, [2 * S::kWarps * kSums]);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const float scale = input.scale(own_row());
    int buffer = 0;
    for (int first = ring_.first_output(); first < outputs_; first += ring_.turn()) {
      typename Epilogue::Kept kept[kFinished] = {};
      for_each_own([&](int i, int place) {
        if (first + place < outputs_) kept[i] = epilogue.begin(own_row(), first + place);
      });
      float sums[S::kTiles][kInputTiles][4] = {};
      for (int step = 0; step < ring_.steps(); ++step) {
        uint4 words[2][S::kRows];
        ring_.take(words);
        add_step(words, input, ring_.column(step), sums);
      }
      leave(sums, scratch + buffer + warp * kSums);
      meet();
      const float* const of_group = scratch + buffer + warp / S::kSplit * S::kSplit * kSums;
      for_each_own([&](int i, int place) {
        if (first + place >= outputs_) return;
        float own[S::kSets];
#pragma unroll
        for (int set = 0; set < S::kSets; ++set) {
          const int row = S::kSets == 1 ? place : place / 8 * 16 + set * 8 + place % 8;
          own[set] = 0.0f;
#pragma unroll
          for (int part = 0; part < S::kSplit; ++part) {
            own[set] += of_group[part * kSums + row * kSlots + own_row()];
          }
          own[set] *= scale;
        }
        epilogue.finish(kept[i], own_row(), first + place, own);
      });
      // Two areas take turns, as in <mg/group_sum.cuh>.
      buffer ^= S::kWarps * kSums;
    }
  }

 private:
  // Calls visit(i, output) for each output that this lane finishes. The warps of a group share
  // them.
  template <class Visit>
  __device__ __forceinline__ void for_each_own(const Visit& visit) const {
    const int lane = ring_.part() * 32 + static_cast<int>(threadIdx.x) % 32;
    if (own_row() >= Input::kRows) return;
#pragma unroll
    for (int i = 0; i < kFinished; ++i) {
      const int value = i * kLanes + lane;
      if (value < kValues) visit(i, value / kSlots);
    }
  }

  __device__ __forceinline__ static void add_step(const uint4 (&w)[2][S::kRows], const Input& input,
                                                  int column,
                                                  float (&sums)[S::kTiles][kInputTiles][4]) {
    float step[S::kTiles][kInputTiles][4] = {};
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int t = 0; t < kInputTiles; ++t) {
        const uint4 b = input.words(t, column + 32 * u);
        const mg::u32 low[2] = {b.x, b.y}, high[2] = {b.z, b.w};
#pragma unroll
        for (int i = 0; i < S::kTiles; ++i) {
          const uint4 &upper = w[u][2 * i], &lower = w[u][2 * i + 1];
          const mg::u32 a_low[4] = {upper.x, lower.x, upper.y, lower.y};
          const mg::u32 a_high[4] = {upper.z, lower.z, upper.w, lower.w};
          mg::mma_m16n8<T, 16>(step[i][t], a_low, low);
          mg::mma_m16n8<T, 16>(step[i][t], a_high, high);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < S::kTiles * kInputTiles * 4; ++i) {
      sums[i / 4 / kInputTiles][i / 4 % kInputTiles][i % 4] +=
          step[i / 4 / kInputTiles][i / 4 % kInputTiles][i % 4];
    }
  }

  // Adds up the parts of x, and leaves a sum for each row of the tiles and row of x.
  __device__ __forceinline__ static void leave(const float (&sums)[S::kTiles][kInputTiles][4],
                                               float* to) {
    const int lane = static_cast<int>(threadIdx.x) % 32, column = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < S::kRows; ++i) {
      float two[2] = {};
#pragma unroll
      for (int c = 0; c < 2; ++c) {
#pragma unroll
        for (int t = 0; t < kInputTiles; ++t) {
          if (8 * t + column < kSlots * Input::kParts) two[c] += sums[i / 2][t][i % 2 * 2 + c];
        }
        if constexpr (Input::kParts > 1) {
#pragma unroll
          for (int distance = kSlots / 2; distance < 4; distance *= 2) {
            two[c] += __shfl_xor_sync(0xffffffffu, two[c], distance);
          }
        }
      }
      if (column < kSlots) {
        *reinterpret_cast<float2*>(to + (lane / 4 + 8 * i) * kSlots + column) =
            make_float2(two[0], two[1]);
      }
    }
  }

  __device__ __forceinline__ static void meet() {
    if constexpr (S::kSplit == 1) {
      __syncwarp();
    } else if constexpr (S::kGroups == 1) {
      __syncthreads();
    } else {
      mg::sync_group<32 * S::kSplit>();
    }
  }

  const int outputs_;
  TileRing<S, Weights> ring_;
};
