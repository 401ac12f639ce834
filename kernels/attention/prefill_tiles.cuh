// The parts of attention.prefill and attention.varlen: the constants of a variant, how tiles of K
// and V are copied, which tiles a block needs, and how O is written. prefill.cu explains the
// algorithm.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/attention_rows.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class ROW_SUM { alu, mma };
enum class RESCALE { always, seldom };

using mg::maximum;
using mg::minimum;
using Scaling = mg::AttentionScaling;

// How a block copies rows of kColumns elements in pieces of eight: kAcross threads copy one row,
// and all threads kAtOnce rows at once.
template <int kColumns, int kThreads>
struct RowCopies {
  static constexpr int kAcross = kColumns % 128 == 0 ? 16 : kColumns % 64 == 0 ? 8 : 4;
  static constexpr int kAtOnce = kThreads / kAcross;
  static constexpr int kPiecesPerRow = kColumns / 8 / kAcross;  // of a thread

  // The pieces that a thread copies of a tile of kRows rows.
  template <int kRows>
  static constexpr int kPerThread = kPiecesPerRow*((kRows + kAtOnce - 1) / kAtOnce);
};

// The constants of a variant.
template <class T_, int HEAD_DIM, int VALUE_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES,
          bool Q_IN_REGS, bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, bool CAUSAL, bool WINDOWED,
          bool CAPPED, bool LSE>
struct Variant {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kValueDim = VALUE_DIM;
  static constexpr int kRows = BLOCK_M, kKeys = BLOCK_N, kStages = STAGES;
  static constexpr int kThreads = 32 * WARPS;
  static constexpr int kRowTiles = BLOCK_M / (16 * WARPS);  // a warp's tiles of 16 rows
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kKeyTiles = BLOCK_N / 8, kDimTiles = VALUE_DIM / 8;  // of 8 columns
  static constexpr int kRowBytes = HEAD_DIM * 2, kValueRowBytes = VALUE_DIM * 2;
  static constexpr bool kQInRegisters = Q_IN_REGS, kOverlap = OVERLAP;
  static constexpr bool kSumByMma = SUM == ROW_SUM::mma, kLazyRescale = SCALING == RESCALE::seldom;
  static constexpr bool kCausal = CAUSAL, kWindowed = WINDOWED, kCapped = CAPPED, kLse = LSE;
  static_assert(BLOCK_M % (16 * WARPS) == 0 && BLOCK_N % 16 == 0 && HEAD_DIM % 32 == 0 &&
                    VALUE_DIM % 32 == 0,
                "whole fragments");
  static_assert(VALUE_DIM <= HEAD_DIM, "O fits where Q was");
  static_assert(!OVERLAP || STAGES > 1, "the next tile is there");

  using KeyCopies = RowCopies<HEAD_DIM, kThreads>;
  using ValueCopies = RowCopies<VALUE_DIM, kThreads>;
  static constexpr int kTileCopies =
      KeyCopies::template kPerThread<BLOCK_N> + ValueCopies::template kPerThread<BLOCK_N>;
  using Copies =
      mg::AsyncCopies<KeyCopies::template kPerThread<BLOCK_M> + STAGES * kTileCopies + 1>;
};

// One head of one sequence.
template <class T>
struct Sequence {
  const T *q, *k, *v;
  T* o;
  float* lse;                                      // may be null
  mg::i64 q_stride, k_stride, v_stride, o_stride;  // elements between rows
  int rows, keys;
};

// Copies one thread's part of the tiles of a matrix with kColumns columns. The thread copies every
// kAtOnce-th row. These rows are a fixed distance apart in swizzled shared memory too.
template <class V, int kColumns = V::kHeadDim>
class TileCopier {
 public:
  using T = typename V::T;

  __device__ __forceinline__ TileCopier(const T* matrix, mg::i64 stride)
      : first_row_(static_cast<int>(threadIdx.x) / Shape::kAcross),
        first_piece_(static_cast<int>(threadIdx.x) % Shape::kAcross),
        stride_(stride),
        from_(matrix + first_row_ * stride + first_piece_ * 8) {}

  // Copies rows [row, row + kRows) into `tile`. With kIsLast, rows from `rows` on become zeros.
  template <int kRows, bool kIsLast>
  __device__ __forceinline__ void copy(typename V::Copies& copies, T* tile, int row,
                                       int rows) const {
    const T* from = from_ + row * stride_;
    auto* const to = reinterpret_cast<unsigned char*>(tile);
#pragma unroll
    for (int start = 0; start < kRows; start += Shape::kAtOnce) {
      if (kRows % Shape::kAtOnce != 0 && start + first_row_ >= kRows) break;
#pragma unroll
      for (int across = 0; across < kColumns / 8; across += Shape::kAcross) {
        const auto place =
            to + mg::swizzled<kColumns * 2>(static_cast<mg::u32>(start + first_row_),
                                            static_cast<mg::u32>(across + first_piece_));
        if constexpr (kIsLast) {
          copies.template copy_or_zero<16>(place, from + across * 8,
                                           row + start + first_row_ < rows);
        } else {
          copies.template copy<16>(place, from + across * 8);
        }
      }
      from += Shape::kAtOnce * stride_;
    }
  }

 private:
  using Shape = RowCopies<kColumns, V::kThreads>;

  int first_row_, first_piece_;
  mg::i64 stride_;
  const T* from_;
};

// Writes O and lse of the warp's rows, which begin at row0 of the sequence. The memory of Q serves
// as a buffer, so that the stores are 16 bytes wide.
template <class V>
__device__ __forceinline__ void write(const mg::AttentionRows<V>& rows,
                                      const Sequence<typename V::T>& at, int row0,
                                      typename V::T* q_rows) {
  using T = typename V::T;
  const mg::u32 lane = threadIdx.x % 32u;
  auto* const q = reinterpret_cast<unsigned char*>(q_rows);
  __syncwarp();  // All lanes have read Q.
#pragma unroll
  for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = rows.row(i, r);
      const float sum = rows.sum(i, r);
      const float share = mg::share_of(sum);
      if constexpr (V::kLse) {
        const float logarithm = rows.log2_base(i, r) * mg::kLn2 + logf(rows.unrounded_sum(i, r));
        if (lane % 4u == 0 && row0 + row < at.rows) {
          at.lse[row0 + row] = sum == 0.0f ? -mg::infinity() : logarithm;
        }
      }
#pragma unroll
      for (int j = 0; j < V::kDimTiles; ++j) {
        const mg::u32 two = mg::pack<T>(rows.o(i, j, r)[0] * share, rows.o(i, j, r)[1] * share);
        memcpy(q +
                   mg::swizzled<V::kValueRowBytes>(static_cast<mg::u32>(row),
                                                   static_cast<mg::u32>(j)) +
                   lane % 4u * 4u,
               &two, sizeof(two));
      }
    }
  }
  __syncwarp();
#pragma unroll
  for (int start = 0; start < V::kWarpRows * V::kDimTiles; start += 32) {
    const int row = (start + static_cast<int>(lane)) / V::kDimTiles;
    const int piece = (start + static_cast<int>(lane)) % V::kDimTiles;
    if (row0 + row >= at.rows) continue;
    const auto* const from =
        reinterpret_cast<const T*>(q + mg::swizzled<V::kValueRowBytes>(
                                           static_cast<mg::u32>(row), static_cast<mg::u32>(piece)));
    mg::store<8>(at.o + (row0 + row) * at.o_stride + piece * 8, mg::load<8>(from));
  }
}

// The tiles of keys that the rows of a block see. Tile 0 has the last keys.
template <class V>
struct Tiles {
  int first_row, diagonal, first_tile, count;

  __device__ __forceinline__ Tiles(int rows, int keys, int first_row, int window,
                                   int block_rows = V::kRows)
      : first_row(first_row), diagonal(keys - rows) {
    const int last_own = minimum(first_row + block_rows, rows) - 1 + diagonal;
    int end = keys, begin = 0;
    if constexpr (V::kCausal) end = minimum(end, last_own + 1);
    if constexpr (V::kWindowed && !V::kCausal) end = minimum(end, last_own + window + 1);
    if constexpr (V::kWindowed) begin = maximum(0, first_row + diagonal - window);
    first_tile = begin / V::kKeys;
    count = end <= begin ? 0 : (end + V::kKeys - 1) / V::kKeys - first_tile;
  }

  __device__ __forceinline__ int key(int tile) const {
    return (first_tile + count - 1 - tile) * V::kKeys;
  }
};

// The rows and the head (times batch) of a block. Blocks are ordered in groups of HEADS_AT_ONCE
// heads. In each group the blocks with the last rows come first, because they see the most keys if
// attention is causal.
struct Place {
  int head, first_row;
};

template <int HEADS_AT_ONCE>
__device__ __forceinline__ Place place_of_block(int block, int rows, int heads, int block_rows) {
  const int row_blocks = (rows + block_rows - 1) / block_rows;
  const int first_head = block / (row_blocks * HEADS_AT_ONCE) * HEADS_AT_ONCE;
  const int group = minimum(HEADS_AT_ONCE, heads - first_head);
  const int place = block - first_head * row_blocks;
  return {first_head + place % group, (row_blocks - 1 - place / group) * block_rows};
}
