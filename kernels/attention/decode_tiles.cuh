// The memory of attention.decode: the constants of a variant, how tiles of K and V are copied from
// the cache, and how rows of o and lse are written. decode.cu explains the algorithm.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/attention_parts.cuh>
#include <mg/attention_rows.cuh>
#include <mg/convert.cuh>
#include <mg/math.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using mg::maximum;
using mg::minimum;

// The constants of a variant.
template <class T_, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, bool PAGED,
          bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
struct Variant {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kRows = ROWS, kKeys = BLOCK_N;
  static constexpr int kWarps = WARPS, kThreads = 32 * WARPS, kStages = STAGES;
  static constexpr int kRowTiles = ROWS / 16, kKeyTiles = BLOCK_N / 8, kDimTiles = HEAD_DIM / 8;
  static constexpr int kRowBytes = HEAD_DIM * 2, kValueRowBytes = kRowBytes;
  // Q takes half as many registers as O. If that is too many, Q is read again for every tile.
  static constexpr bool kQInRegisters = ROWS * HEAD_DIM <= 2048;
  static constexpr bool kSumByMma = false, kLazyRescale = true;
  static constexpr bool kPaged = PAGED, kLse = LSE;
  static constexpr bool kCausal = CAUSAL, kWindowed = WINDOWED, kCapped = CAPPED;
  static_assert(ROWS % 16 == 0 && BLOCK_N % 16 == 0 && BLOCK_N <= 64 && HEAD_DIM % 32 == 0,
                "whole fragments");

  // A warp copies kCopiedAtOnce rows of K or V at once, with kAcross lanes per row.
  static constexpr int kAcross = HEAD_DIM % 128 == 0 ? 16 : HEAD_DIM % 64 == 0 ? 8 : 4;
  static constexpr int kCopiedAtOnce = 32 / kAcross;
  static constexpr int kTileCopies = BLOCK_N / kCopiedAtOnce * (kDimTiles / kAcross);
  static constexpr int kQCopies = (ROWS * kDimTiles + kThreads - 1) / kThreads;
  using Copies = mg::AsyncCopies<kQCopies + 2 * STAGES * kTileCopies + 1>;

  // Shared memory, in elements of T: Q, then a ring of tiles of K and V per warp. At the end the
  // warps' O lie in the same place as floats. A row of O is 8 floats longer than head_dim, so that
  // the rows of one store lie in different banks.
  static constexpr int kTile = BLOCK_N * HEAD_DIM, kRing = 2 * STAGES * kTile;
  static constexpr int kMergedRow = HEAD_DIM + 8, kMergedRows = WARPS * ROWS;
  static constexpr int kRingBytes = (ROWS * HEAD_DIM + WARPS * kRing) * 2;
  static constexpr int kMergedBytes = kMergedRows * (kMergedRow + 4) * 4;
  static constexpr int kBytes = kRingBytes > kMergedBytes ? kRingBytes : kMergedBytes;
};

// The cached keys and values of one sequence and head.
template <class T>
struct Cache {
  const T *k, *v;
  mg::i64 k_page, k_row, v_page, v_row;  // elements between pages and between rows
  const int* pages;
  int page_size;
};

// Where the rows of a block lie in o and lse.
template <class T>
struct Outputs {
  T* o;
  float* lse;                 // may be null
  mg::i64 row, head;          // strides of o
  int first_row, first_head;  // the block's first row; the first head of its group
  int group, q_len;

  __device__ __forceinline__ T* o_row(int row_of_block) const {
    const int index = first_row + row_of_block;
    return o + index / group * row + (first_head + index % group) * head;
  }
  __device__ __forceinline__ float* lse_row(int row_of_block) const {
    const int index = first_row + row_of_block;
    return lse + (first_head + index % group) * q_len + index / group;
  }
};

// Writes columns [column, column + 4) of a row of the block, and its lse with column 0.
template <class T, bool kLse>
__device__ __forceinline__ void write(const Outputs<T>& to, int row, int column,
                                      const mg::AttentionPiece& piece) {
  const float share = mg::share_of(piece.weight.y);
  const float values[4] = {piece.o.x * share, piece.o.y * share, piece.o.z * share,
                           piece.o.w * share};
  mg::store<4>(to.o_row(row) + column, mg::from_floats<T>(values));
  if (kLse && column == 0) {
    const float logarithm = piece.weight.x * mg::kLn2 + logf(piece.weight.z);
    *to.lse_row(row) = piece.weight.y == 0.0f ? -mg::infinity() : logarithm;
  }
}

// Copies tiles of K and V into the ring of a warp.
template <class V>
class TileCopier {
 public:
  using T = typename V::T;

  __device__ __forceinline__ TileCopier(const Cache<T>& cache)
      : cache_(cache),
        lane_row_(static_cast<int>(threadIdx.x % 32u) / V::kAcross),
        lane_piece_(static_cast<int>(threadIdx.x % 32u) % V::kAcross) {}

  // Copies rows [key, key + kKeys) of K into `tile` and those of V into the tile after it. Rows
  // from `end` on become zeros.
  __device__ __forceinline__ void copy(typename V::Copies& copies, T* tile, int key,
                                       int end) const {
    if (!V::kPaged && key + V::kKeys <= end) {
      copy_whole(copies, tile, key);
    } else {
      copy_checked(copies, tile, key, end);
    }
  }

 private:
  // All rows are there: a lane needs no comparisons, and one addition per row for the address.
  __device__ __forceinline__ void copy_whole(typename V::Copies& copies, T* tile, int key) const {
    const T* k = cache_.k + (key + lane_row_) * cache_.k_row;
    const T* v = cache_.v + (key + lane_row_) * cache_.v_row;
#pragma unroll
    for (int first = 0; first < V::kKeys; first += V::kCopiedAtOnce) {
      copy_row(copies, tile, k, first + lane_row_, true);
      copy_row(copies, tile + V::kTile, v, first + lane_row_, true);
      k += V::kCopiedAtOnce * cache_.k_row;
      v += V::kCopiedAtOnce * cache_.v_row;
    }
  }

  __device__ __forceinline__ void copy_checked(typename V::Copies& copies, T* tile, int key,
                                               int end) const {
    constexpr int kLookups = (V::kKeys + 31) / 32;  // the rows whose pages a lane looks up
    int pages[kLookups], rows[kLookups];
    if constexpr (V::kPaged) {
#pragma unroll
      for (int n = 0; n < kLookups; ++n) {
        const int own = key + 32 * n + static_cast<int>(threadIdx.x % 32u);
        pages[n] = own < end ? cache_.pages[own / cache_.page_size] : 0;
        rows[n] = own % cache_.page_size;
      }
    }
#pragma unroll
    for (int first = 0; first < V::kKeys; first += V::kCopiedAtOnce) {
      const int row = first + lane_row_;
      mg::i64 page = 0, row_of_page = key + row;
      if constexpr (V::kPaged) {
        page = __shfl_sync(0xffffffffu, pages[first / 32], row % 32);
        row_of_page = __shfl_sync(0xffffffffu, rows[first / 32], row % 32);
      }
      const T* const k = cache_.k + page * cache_.k_page + row_of_page * cache_.k_row;
      const T* const v = cache_.v + page * cache_.v_page + row_of_page * cache_.v_row;
      copy_row(copies, tile, k, row, key + row < end);
      copy_row(copies, tile + V::kTile, v, row, key + row < end);
    }
  }

  __device__ __forceinline__ void copy_row(typename V::Copies& copies, T* tile, const T* from,
                                           int row, bool is_there) const {
    auto* const to = reinterpret_cast<unsigned char*>(tile);
#pragma unroll
    for (int across = 0; across < V::kDimTiles; across += V::kAcross) {
      const int piece = across + lane_piece_;
      copies.template copy_or_zero<16>(
          to + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(piece)),
          from + piece * 8, is_there);
    }
  }

  Cache<T> cache_;
  int lane_row_, lane_piece_;
};
