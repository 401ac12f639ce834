// The units of work of <mg/wgmma_gemm.cuh>: which tile, and which slabs of its k, a block
// multiplies next.
//
//   mg::GemmUnits<V> units({m, n, k, group});
//   mg::GemmUnit unit;
//   while (units.next(unit)) ...
//
// V has the constants of the variant. A tile has V::kRows rows and V::kOwnColumns columns of y, and
// a slab has V::kBlockK columns of k. A cluster takes V::kCluster tiles of rows at a time, all of
// the same columns. `group` such sets of tiles follow each other before the next tile of columns.
// So blocks that run at the same time share rows of both matrices in L2.
//
// With V::kClusterK > 1, kClusterK blocks of the cluster share each tile. They take its slabs in
// turn, so that all blocks go through k together, as they do with kClusterK = 1. Every tile has at
// least one slab for each of these blocks. With V::kStreamK the clusters share the tiles of the
// last waves evenly: each takes a run of slabs, which may begin in one tile and end in the next.

#pragma once

#include <mg/cluster.cuh>
#include <mg/types.cuh>

namespace mg {

struct GemmShape {
  int m, n, k;
  int group;
};

// A unit of work: the first row and column of the tile, and every CLUSTER_K-th slab in [begin, end)
// of k. If STREAM_K cuts the tile, `shared` is its number among the shared tiles.
struct GemmUnit {
  int row, column, begin, end, shared;
};

// The units of a block, in their order. The producer and each consumer have a copy.
template <class V>
class GemmUnits {
  static constexpr int kBlocks = V::kCluster * V::kClusterK;

 public:
  __device__ __forceinline__ explicit GemmUnits(const GemmShape& shape)
      : row_tiles_(tiles(shape.m, V::kRows * V::kCluster)),
        column_tiles_(tiles(shape.n, V::kOwnColumns)),
        slabs_(tiles(shape.k, V::kBlockK)),
        group_(shape.group),
        clusters_(static_cast<int>(gridDim.x) / kBlocks),
        rank_(kBlocks > 1 ? static_cast<int>(cluster_rank()) : 0),
        next_(static_cast<int>(blockIdx.x) / kBlocks) {
    const int all = row_tiles_ * column_tiles_;
    shared_ = !V::kStreamK || all % clusters_ == 0 ? 0
              : all < clusters_                    ? all
                                                   : all % clusters_ + clusters_;
    whole_ = all - shared_;
    if constexpr (V::kStreamK) {
      at_ = first_slab(next_);
      end_ = first_slab(next_ + 1);
    }
  }

  // Returns false if there are no more units.
  __device__ __forceinline__ bool next(GemmUnit& unit) {
    if (next_ < whole_) {
      unit = at(next_, share_of_k(), slabs_);
      next_ += clusters_;
      return true;
    }
    if (!V::kStreamK || at_ >= end_) return false;
    const u32 slabs = static_cast<u32>(slabs_), tile = at_ / slabs, begin = at_ % slabs;
    const u32 count = slabs - begin < end_ - at_ ? slabs - begin : end_ - at_;
    unit = at(whole_ + static_cast<int>(tile), static_cast<int>(begin),
              static_cast<int>(begin + count));
    unit.shared = static_cast<int>(tile);
    at_ += count;
    return true;
  }

  __device__ __forceinline__ bool is_whole(const GemmUnit& unit) const {
    return !V::kStreamK || (unit.begin == 0 && unit.end == slabs_);
  }
  // The first cluster that has a part of a shared tile, and the last one.
  __device__ __forceinline__ int first_cluster(int tile) const {
    return cluster_of(static_cast<u32>(tile * slabs_));
  }
  __device__ __forceinline__ int last_cluster(int tile) const {
    return cluster_of(static_cast<u32>((tile + 1) * slabs_) - 1u);
  }
  // The slabs of a unit.
  __device__ __forceinline__ static int count(const GemmUnit& unit) {
    return (unit.end - unit.begin + V::kClusterK - 1) / V::kClusterK;
  }
  // rank(): this block's number among the blocks of the cluster with the same columns and slabs.
  // share_of_k(): which CLUSTER_K-th of the slabs these blocks have. first_block(): the first of
  // them in the cluster.
  __device__ __forceinline__ int rank() const { return rank_ % V::kCluster; }
  __device__ __forceinline__ int share_of_k() const {
    return V::kClusterK > 1 ? rank_ / V::kCluster : 0;
  }
  __device__ __forceinline__ int first_block() const { return share_of_k() * V::kCluster; }

 private:
  __device__ __forceinline__ static int tiles(int count, int size) {
    return (count + size - 1) / size;
  }

  __device__ __forceinline__ GemmUnit at(int tile, int begin, int end) const {
    const int of_group = group_ * column_tiles_;
    const int first = tile / of_group * group_, within = tile % of_group;
    const int rows = row_tiles_ - first < group_ ? row_tiles_ - first : group_;
    const int row_tile = (first + within % rows) * V::kCluster + rank();
    return {row_tile * V::kRows, within / rows * V::kOwnColumns, begin, end, 0};
  }

  // The slabs of all shared tiles are numbered consecutively. Each cluster has `least` of them, and
  // the first `more` clusters have one more. There are fewer than 2^32 such slabs.
  __device__ __forceinline__ void shares(u32& least, u32& more) const {
    const u32 all = static_cast<u32>(shared_) * static_cast<u32>(slabs_);
    least = all / static_cast<u32>(clusters_);
    more = all % static_cast<u32>(clusters_);
  }
  __device__ __forceinline__ u32 first_slab(int cluster) const {
    u32 least, more;
    shares(least, more);
    const u32 c = static_cast<u32>(cluster);
    return least * c + (c < more ? c : more);
  }
  __device__ __forceinline__ int cluster_of(u32 slab) const {
    u32 least, more;
    shares(least, more);
    const u32 longer = more * (least + 1u);
    return static_cast<int>(slab < longer ? slab / (least + 1u) : more + (slab - longer) / least);
  }

  int row_tiles_, column_tiles_, slabs_, group_, clusters_, rank_;
  int next_;            // the next whole tile
  int whole_, shared_;  // the numbers of tiles
  u32 at_, end_;        // this cluster's slabs of shared tiles
};

}  // namespace mg
