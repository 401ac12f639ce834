// The work of one block of attention.decode: its place in the problem, attention over its chunk of
// keys, and the sum over its warps. decode.cu explains the algorithm.

#pragma once

#include <mg/attention_parts.cuh>
#include <mg/attention_rows.cuh>
#include <mg/cache_hint.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/shared.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>

#include "decode_tiles.cuh"

// How a sequence is cut: its keys from `begin` on form `parts` parts.
struct Cut {
  int begin, parts;

  template <bool kWindowed>
  static __device__ __forceinline__ Cut of(int keys, int q_len, int window, int chunk,
                                           int max_parts) {
    const int begin = kWindowed ? maximum(0, keys - q_len - window) : 0;
    return {begin, maximum(1, minimum((keys - begin + chunk - 1) / chunk, max_parts))};
  }
};

// Prefetches into L2 the rows that this block will read. `end` comes from kv_len, an upper bound of
// the length, because the length itself may not be read yet.
template <class V>
__device__ __forceinline__ void prefetch(const Cache<typename V::T>& cache, int begin, int end) {
  constexpr int kLines = (V::kHeadDim + 63) / 64;  // of 128 bytes
  const int count = (end - begin) * kLines;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += V::kThreads) {
    const int key = begin + i / kLines, column = i % kLines * 64;
    mg::prefetch_to_l2(cache.k + key * cache.k_row + column);
    mg::prefetch_to_l2(cache.v + key * cache.v_row + column);
  }
}

// The arguments that the kernels share.
template <class T>
struct Arguments {
  const T *q, *k, *v;
  const int *kv_lens, *block_table;
  T* o;
  float* lse;
  mg::AttentionScaling scaling;
  int q_len, kv_len, heads, kv_heads, page_size, max_pages, chunk;
  mg::i64 q_sb, q_ss, q_sh, k_sb, k_ss, k_sh, v_sb, v_ss, v_sh, o_sb, o_ss, o_sh;
};

// The work of a block: up to V::kRows rows of a KV head, and a part of a sequence.
template <class V>
struct Place {
  using T = typename V::T;
  int sequence, part, kv_head, group, first_row, rows;

  // blockIdx.x is a KV head and a block of its rows, blockIdx.y a part, blockIdx.z a sequence.
  __device__ __forceinline__ explicit Place(const Arguments<T>& in)
      : Place(in, static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y),
              static_cast<int>(blockIdx.x) % in.kv_heads,
              static_cast<int>(blockIdx.x) / in.kv_heads) {}

  __device__ __forceinline__ Place(const Arguments<T>& in, int sequence, int part, int kv_head,
                                   int row_block)
      : sequence(sequence),
        part(part),
        kv_head(kv_head),
        group(in.heads / in.kv_heads),
        first_row(row_block * V::kRows),
        rows(minimum(V::kRows, group * in.q_len - first_row)) {}

  __device__ __forceinline__ const T* q(const Arguments<T>& in) const {
    return in.q + sequence * in.q_sb + kv_head * group * in.q_sh;
  }

  __device__ __forceinline__ Cache<T> cache(const Arguments<T>& in) const {
    Cache<T> cache{in.k + kv_head * in.k_sh,
                   in.v + kv_head * in.v_sh,
                   in.k_sb,
                   in.k_ss,
                   in.v_sb,
                   in.v_ss,
                   nullptr,
                   in.page_size};
    if constexpr (V::kPaged) {
      cache.pages = in.block_table + mg::i64{sequence} * in.max_pages;
    } else {
      cache.k += sequence * in.k_sb;
      cache.v += sequence * in.v_sb;
    }
    return cache;
  }

  __device__ __forceinline__ Outputs<T> outputs(const Arguments<T>& in) const {
    return {in.o + sequence * in.o_sb,
            V::kLse ? in.lse + mg::i64{sequence} * in.heads * in.q_len : nullptr,
            in.o_ss,
            in.o_sh,
            first_row,
            kv_head * group,
            group,
            in.q_len};
  }
};

// Waits until this grid may read what earlier grids wrote. Meanwhile it prefetches the first
// `prefetched` keys of the chunk into L2. `prefetched` is 0 if the chunk is longer than the rings,
// or if there are more blocks than SMs: then prefetches cost more than they save.
template <class V, bool kPdl>
__device__ __forceinline__ void begin(const Arguments<typename V::T>& in, const Place<V>& place,
                                      int prefetched) {
  if constexpr (kPdl) {
    if constexpr (!V::kPaged && !V::kWindowed) {
      const int first = place.part * in.chunk;
      prefetch<V>(place.cache(in), first, minimum(in.kv_len, first + prefetched));
    }
    mg::wait_for_previous_grid();
  }
}

// The sums of a block's warps in shared memory, where each warp has `rows_per_warp` rows. All
// threads of the block call its functions.
template <class V>
struct Merged {
  float *sums, *weights;
  int rows_per_warp;

  __device__ __forceinline__ Merged(float* place, int rows_per_warp)
      : sums(place),
        weights(place + V::kWarps * rows_per_warp * V::kMergedRow),
        rows_per_warp(rows_per_warp) {}

  __device__ __forceinline__ void put(const mg::AttentionRows<V>& own, int rows) const {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = own.row(i, r), place = warp * rows_per_warp + row;
        const float4 weight =
            make_float4(own.log2_base(i, r), own.sum(i, r), own.unrounded_sum(i, r), 0.0f);
        if (row >= rows) continue;
        if (lane % 4 == 0) *reinterpret_cast<float4*>(weights + place * 4) = weight;
#pragma unroll
        for (int j = 0; j < V::kDimTiles; ++j) {
          const float* const two = own.o(i, j, r);
          *reinterpret_cast<float2*>(sums + place * V::kMergedRow + 8 * j + lane % 4 * 2) =
              make_float2(two[0], two[1]);
        }
      }
    }
  }

  // Calls visit(row, column, piece) for every fourth column of `rows` rows. `piece` is the sum over
  // all warps for four columns.
  template <class Visit>
  __device__ __forceinline__ void for_each_piece(int rows, const Visit& visit) const {
    constexpr int kPieces = V::kHeadDim / 4;
    for (int i = static_cast<int>(threadIdx.x); i < rows * kPieces; i += V::kThreads) {
      const int row = i / kPieces, column = i % kPieces * 4;
      mg::AttentionPiece pieces[V::kWarps], sum = mg::no_keys();
#pragma unroll
      for (int w = 0; w < V::kWarps; ++w) {
        const int place = w * rows_per_warp + row;
        pieces[w] = {*reinterpret_cast<const float4*>(sums + place * V::kMergedRow + column),
                     *reinterpret_cast<const float4*>(weights + place * 4)};
      }
      mg::add(sum, pieces);
      visit(row, column, sum);
    }
  }
};

// Adds a tile of keys to `rows`. The tile begins at `key`; its rows from `end_key` on are zeros.
// The sequence has `keys` keys. `k_tile` holds K, followed by V.
template <class V>
__device__ __forceinline__ void attend_tile(const Arguments<typename V::T>& in,
                                            const Place<V>& place, mg::AttentionRows<V>& rows,
                                            const typename V::T* k_tile, int key, int end_key,
                                            int keys) {
  const int diagonal = keys - in.q_len, window = in.scaling.window;
  const auto own = [&](int row) { return (place.first_row + row) / place.group + diagonal; };
  typename mg::AttentionRows<V>::Scores scores;
  rows.multiply_q(scores, k_tile, [](int) {});
  rows.cap(scores, in.scaling);
  const int last = key + V::kKeys - 1;
  bool hides = last >= end_key;
  if constexpr (V::kCausal) hides |= last > own(0);
  if constexpr (V::kWindowed && !V::kCausal) hides |= last > own(0) + window;
  if constexpr (V::kWindowed) hides |= key < own(place.rows - 1) - window;
  if (hides) rows.mask(scores, own, key, keys, window);
  rows.follow_maximum(scores);
  typename mg::AttentionRows<V>::Probabilities probabilities;
#pragma unroll
  for (int step = 0; step < V::kKeys / 16; ++step) rows.exponentiate(scores, step, probabilities);
  rows.multiply_v(probabilities, k_tile + V::kTile);
}

// Computes attention of a block's rows over keys [first_key, end_key) of a sequence that has `keys`
// keys. With kPdl the next grid may start when the last tile has been computed. If it could start
// earlier, its blocks would take the free places of the SMs while all blocks of this grid still
// run. After a few launches some SMs would have two blocks of a grid and others none.
template <class V, bool kPdl>
__device__ __forceinline__ Merged<V> attend(const Arguments<typename V::T>& in,
                                            const Place<V>& place, int keys, int first_key,
                                            int end_key) {
  using T = typename V::T;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  T* const q_tile = mg::dynamic_shared<T>();
  T* const ring = q_tile + V::kRows * V::kHeadDim + warp * V::kRing;

  typename V::Copies copies;
  const T* const q = place.q(in);
  for (int i = static_cast<int>(threadIdx.x); i < V::kRows * V::kDimTiles; i += V::kThreads) {
    const int row = i / V::kDimTiles, piece = i % V::kDimTiles, index = place.first_row + row;
    copies.template copy_or_zero<16>(
        reinterpret_cast<unsigned char*>(q_tile) +
            mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(piece)),
        q + index / place.group * in.q_ss + index % place.group * in.q_sh + piece * 8,
        row < place.rows);
  }
  constexpr int kStep = V::kWarps * V::kKeys;
  const TileCopier<V> tiles(place.cache(in));
  int next_key = first_key + warp * V::kKeys;
  const auto load = [&](int slot) {
    if (next_key < end_key) tiles.copy(copies, ring + slot * 2 * V::kTile, next_key, end_key);
    copies.end_group();
    next_key += kStep;
  };
#pragma unroll
  for (int slot = 0; slot < V::kStages; ++slot) load(slot);
  copies.template wait<V::kStages - 1>();
  __syncthreads();  // Q has arrived.

  mg::AttentionRows<V> rows(in.scaling, q_tile);
  rows.load_q();
  int slot = 0;
  for (int key = first_key + warp * V::kKeys; key < end_key; key += kStep) {
    copies.template wait<V::kStages - 1>();
    __syncwarp();
    attend_tile(in, place, rows, ring + slot * 2 * V::kTile, key, end_key, keys);
    __syncwarp();  // All lanes have read the tile.
    load(slot);
    slot = slot == V::kStages - 1 ? 0 : slot + 1;
  }
  if constexpr (kPdl) mg::let_next_grid_start();
  copies.template wait<0>();
  __syncthreads();  // Every warp is done with its ring.
  const Merged<V> merged(mg::dynamic_shared<float>(), V::kRows);
  merged.put(rows, place.rows);
  __syncthreads();
  return merged;
}
