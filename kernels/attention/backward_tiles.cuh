// The parts of attention.backward that do not compute: the constants of a kernel, how tiles follow
// each other through shared memory, and how gradients are written. backward.cu explains the
// algorithm.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "backward_rows.cuh"
#include "prefill_tiles.cuh"

// The constants of a kernel. A block owns ROWS rows of two matrices. Tiles of COLUMNS rows of the
// other two matrices pass by, through STAGES slots.
template <class T_, int HEAD_DIM, int ROWS, int COLUMNS, int WARPS, int STAGES, bool IN_REGS,
          bool CAUSAL>
struct Pass {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kRows = ROWS, kColumns = COLUMNS, kStages = STAGES;
  static constexpr int kThreads = 32 * WARPS;
  static constexpr int kRowTiles = ROWS / (16 * WARPS);  // a warp's tiles of 16 rows
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kColumnTiles = COLUMNS / 8, kDimTiles = HEAD_DIM / 8;  // of 8 columns
  static constexpr int kRowBytes = HEAD_DIM * 2;
  static constexpr bool kInRegisters = IN_REGS, kCausal = CAUSAL;
  static_assert(ROWS % (16 * WARPS) == 0 && COLUMNS % 32 == 0 && HEAD_DIM % 64 == 0,
                "whole fragments");

  // A thread's copies of its own rows of two matrices, and per stage of two tiles and of figures.
  using OneCopies = RowCopies<HEAD_DIM, kThreads>;
  using Copies = mg::AsyncCopies<2 * OneCopies::template kPerThread<ROWS> +
                                 STAGES*(2 * OneCopies::template kPerThread<COLUMNS> + 1)>;
};

// The distances between batches, rows and heads in elements.
struct Strides {
  mg::i64 batch, row, head;
};

// A block's shared memory: its own rows of two matrices, and the slots of the tiles. A slot has two
// tiles. After all slots lie the two figures of each row of each tile.
template <class V>
struct SharedTiles {
  using T = typename V::T;
  static constexpr int kOwn = V::kRows * V::kHeadDim, kTile = V::kColumns * V::kHeadDim;

  T* const memory = mg::dynamic_shared<T>();

  __device__ __forceinline__ T* own(int matrix) const { return memory + matrix * kOwn; }
  // The rows of the thread's warp.
  __device__ __forceinline__ T* own_of_warp(int matrix) const {
    return own(matrix) + static_cast<int>(threadIdx.x) / 32 * V::kWarpRows * V::kHeadDim;
  }
  __device__ __forceinline__ T* tile(int slot, int matrix) const {
    return memory + 2 * kOwn + (2 * slot + matrix) * kTile;
  }
  __device__ __forceinline__ float* figures(int slot, int which) const {
    return reinterpret_cast<float*>(tile(V::kStages, 0)) + (2 * slot + which) * V::kColumns;
  }
};

// Runs over `count` tiles. load(slot) starts the copies of the next tile. compute(slot) uses the
// oldest loaded tile that was not used yet. Copies that the caller started earlier belong to the
// first tile. begin() is called when they have arrived.
template <class V, class Load, class Begin, class Compute>
__device__ __forceinline__ void pass_tiles(typename V::Copies& copies, int count, const Load& load,
                                           const Begin& begin, const Compute& compute) {
  constexpr int kInFlight = V::kStages > 1 ? V::kStages - 1 : 1;  // tiles before the first is used
#pragma unroll
  for (int tile = 0; tile < kInFlight; ++tile) {
    if (tile < count) load(tile);
    copies.end_group();
  }
  copies.template wait<kInFlight - 1>();
  __syncthreads();
  begin();
  int slot = 0;
  for (int tile = 0; tile < count; ++tile) {
    if (tile > 0) {
      if constexpr (V::kStages == 1) {
        __syncthreads();  // Every warp has used the previous tile.
        load(0);
        copies.end_group();
      }
      copies.template wait<kInFlight - 1>();
      __syncthreads();  // This tile has arrived. With more slots, the previous slot is free.
    }
    if constexpr (V::kStages > 1) {
      if (tile + kInFlight < count) load(slot == 0 ? V::kStages - 1 : slot - 1);
      copies.end_group();
    }
    compute(slot);
    slot = slot == V::kStages - 1 ? 0 : slot + 1;
  }
}

// Writes factor * sums to the warp's rows, which begin at row0 of `to`, a matrix of `rows` rows.
// The warp's rows in shared memory serve as a buffer, so that the stores are 16 bytes wide.
template <class V>
__device__ __forceinline__ void write_gradient(const Sums<V>& sums, float factor, typename V::T* to,
                                               mg::i64 stride, int row0, int rows,
                                               typename V::T* buffer) {
  using T = typename V::T;
  const mg::u32 lane = threadIdx.x % 32u;
  auto* const bytes = reinterpret_cast<unsigned char*>(buffer);
  __syncwarp();  // All lanes have read the old contents.
#pragma unroll
  for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int j = 0; j < V::kDimTiles; ++j) {
        const float* const two = sums.x[i][j] + 2 * r;
        const mg::u32 word = mg::pack<T>(two[0] * factor, two[1] * factor);
        memcpy(bytes +
                   mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row_of_lane(i, r)),
                                              static_cast<mg::u32>(j)) +
                   lane % 4u * 4u,
               &word, sizeof(word));
      }
    }
  }
  __syncwarp();
#pragma unroll
  for (int start = 0; start < V::kWarpRows * V::kDimTiles; start += 32) {
    const int row = (start + static_cast<int>(lane)) / V::kDimTiles;
    const int piece = (start + static_cast<int>(lane)) % V::kDimTiles;
    if (row0 + row >= rows) continue;
    const auto* const from = reinterpret_cast<const T*>(
        bytes + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(piece)));
    mg::store<8>(to + (row0 + row) * stride + piece * 8, mg::load<8>(from));
  }
}
