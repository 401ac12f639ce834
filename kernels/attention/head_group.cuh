// How the rows of a tile stand for the query heads that share a KV head, in the design wgmma of
// attention.prefill and attention.varlen. Without PACK_GQA the rows of a tile are queries of one
// head. With PACK_GQA a tile has all heads of a group, query after query. So a few queries fill a
// tile, and each byte of K and V is read once for the group:
//
//   row r of a tile:   query r / size, head r % size
//
// A tile has as many queries as fit with all their heads. The rows after them are not used.

#pragma once

#include <mg/types.cuh>

template <bool kPacksHeads, int kRows>
struct HeadGroup {
  int size;
  mg::i64 o_stride, lse_stride;  // elements between the heads of a group

  // The queries of a tile, and which of them a row belongs to.
  __device__ __forceinline__ int queries() const { return query(kRows); }
  __device__ __forceinline__ int query(int row) const {
    return kPacksHeads ? static_cast<int>(static_cast<mg::u32>(row) / static_cast<mg::u32>(size))
                       : row;
  }
  __device__ __forceinline__ int head(int row) const {
    return kPacksHeads ? row - query(row) * size : 0;
  }
  // Whether a row of a tile is used.
  __device__ __forceinline__ bool uses(int row) const {
    return !kPacksHeads || query(row) < queries();
  }
};
