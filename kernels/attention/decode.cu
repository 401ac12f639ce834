// attention.decode  o[b, i, h] = sum over visible j of softmax(logit[j]) * v[b, j, h / group]
//                   logit[j] = scale * dot(q[b, i, h], k[b, j, h / group])
//                   lse[b, h, i] = log(sum over visible j of exp(logit[j]))
//
// for few queries (i < q_len) and the keys[b] rows of a cache, keys[] lying in device memory.
//   causal     key j is visible to query i where j <= i + keys - q_len: the last query sees all
//   windowed   keys further than `window` from i + keys - q_len are not visible
//   capped     logits go through softcap * tanh(logit / softcap) first
//   paged      row j of sequence b is row j % page_size of page block_table[b, j / page_size]
// A query that sees no key gives o = 0 and lse = -inf. scale is positive.
//
// Algorithm  The queries of all heads that share a head of keys are the rows of one matrix, so that
// K
//            and V are read once for all of them. A block has ROWS of these rows and, of one
//            sequence's keys, `chunk`; its warps take tiles of BLOCK_N keys in turn. Each warp
//            copies its own tiles by cp.async, STAGES ahead, and waits for nobody: no barrier
//            between the first tile and the last. It keeps Q, the softmax and its own sums O for
//            all rows in registers; at the end the warps' O, maxima and sums meet in shared memory.
//            A sequence with one chunk is written at once; otherwise every block leaves its part in
//            the workspace, and they are added in the order of their keys: by the block that ends
//            last (COMBINE::last_block, found by a counter that it leaves at zero), or by a second
//            kernel. Chunks are cut by dims alone; blocks behind a sequence's end are gone at once.
// Traffic    reads K and V of the visible keys once for each ROWS rows (from L2 after the first),
//            q and the lengths; writes o. Of a part, 4 * head_dim + 16 bytes a row, written and
//            read through L2: 1 / 16 of a chunk of 64 keys for groups of 4, 1 / 128 of one of 512.
// Work       4 * heads * q_len * keys * head_dim flops, an eighth of what mma.sync does in the time
//            of the bytes while heads * q_len / kv_heads <= 16: bound by memory.
// Expected   (H200, 32 query and 8 KV heads of 128, bf16; 4.2 TB/s) a launch 2.5 us, less where it
//            overlaps the kernel before; the length 0.5 us, then the first tiles 1 us, the bytes,
//            the warps' sum 0.5 us, parts and their sum 1.5 us:
//              batch 1:   1k  4 MB   1.0 + 5 =   6 us    8k   34 MB    8 + 5 =  13 us
//                        32k  134 MB 32 + 5 =   37 us
//              batch 8:   1k  34 MB     13 us    8k  268 MB     69 us   32k  1.07 GB   259 us
//              batch 64:  8k  2.1 GB   515 us   32k  8.6 GB   2.05 ms: what a copy of the bytes
//              takes
// Tunables   ROWS      of Q that a block computes with: 32 where there are more than 16
//            BLOCK_N   keys of a warp's tile: fewer steps, more products side by side; registers
//            WARPS     that share a chunk; more of them, more sums to merge at the end
//            STAGES    tiles on their way. An SM needs 33 KB in flight, better 64 to 128:
//                      BLOCKS_PER_SM * WARPS * STAGES * BLOCK_N * 4 * head_dim bytes
//            BLOCKS_PER_SM   that the compiler leaves registers for
//            GRID_BLOCKS     blocks for each SM that chunks are cut for: fewer have fewer parts to
//                            add up; more of them even out the end
//            COMBINE   last_block: no second launch; kernel: more threads for the last sum
//            PDL       the grid starts while the one before it ends, and brings the first rows of
//                      K and V into L2 meanwhile; the second kernel is there when the first ends
// Numerics   as in prefill.cu: products exact, sums and softmax in fp32, P rounded to T, row sums
//            add the rounded P (lse has a sum of its own), o is rounded once. Parts are fp32 and
//            are added in a fixed order: runs give the same bits.

#include <mg/async_copy.cuh>
#include <mg/attention_rows.cuh>
#include <mg/bulk_copy.cuh>
#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class COMBINE { kernel, last_block };

using mg::least;
using mg::most;

// What a variant is.
template <class T_, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, bool PAGED,
          bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
struct Variant {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kRows = ROWS, kKeys = BLOCK_N;
  static constexpr int kWarps = WARPS, kThreads = 32 * WARPS, kStages = STAGES;
  static constexpr int kRowTiles = ROWS / 16, kKeyTiles = BLOCK_N / 8, kDimTiles = HEAD_DIM / 8;
  static constexpr int kRowBytes = HEAD_DIM * 2;
  // Beside O, half as many registers again; otherwise Q is read for every tile.
  static constexpr bool kQInRegisters = ROWS * HEAD_DIM <= 2048;
  static constexpr bool kSumByMma = false, kSeldom = true;
  static constexpr bool kPaged = PAGED, kLse = LSE;
  static constexpr bool kCausal = CAUSAL, kWindowed = WINDOWED, kCapped = CAPPED;
  static_assert(ROWS % 16 == 0 && BLOCK_N % 16 == 0 && BLOCK_N <= 64 && HEAD_DIM % 32 == 0,
                "whole fragments");

  // Rows of K or V that a warp copies at once, `kAcross` lanes each.
  static constexpr int kAcross = HEAD_DIM % 128 == 0 ? 16 : HEAD_DIM % 64 == 0 ? 8 : 4;
  static constexpr int kCopiedAtOnce = 32 / kAcross;
  static constexpr int kTileCopies = BLOCK_N / kCopiedAtOnce * (kDimTiles / kAcross);
  static constexpr int kQCopies = (ROWS * kDimTiles + kThreads - 1) / kThreads;
  using Copies = mg::AsyncCopies<kQCopies + 2 * STAGES * kTileCopies + 1, mg::InL2::normal>;

  // Shared memory in elements of T: Q, then a ring of tiles of K and V for each warp. At the end
  // the warps' O lie there as floats; 8 more a row keep the lanes of a quad off each other's banks.
  static constexpr int kTile = BLOCK_N * HEAD_DIM, kRing = 2 * STAGES * kTile;
  static constexpr int kMergedRow = HEAD_DIM + 8;
};

// The cache of one sequence and head.
template <class T>
struct Cache {
  const T *k, *v;
  mg::i64 k_page, k_row, v_page, v_row;  // in elements, between pages and between rows
  const int* pages;
  int page_size;
};

// The parts of blocks that share a sequence, kRows rows each.
struct Parts {
  float* sums;      // kHeadDim columns a row: O, to be divided by the first sum
  float4* weights;  // log2 of what exponentials are relative to, their sum, and that of lse
};

// Where rows of a block belong in o and lse.
template <class T>
struct Outputs {
  T* o;
  float* lse;                 // or null
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

// Four columns of a row of O and what belongs to the row, from some keys or all.
struct Piece {
  float o[4];
  float base, sum, unrounded_sum;
};

// 2^(from - to); 0 for a row that has seen no key, where both may be -inf.
__device__ __forceinline__ float rescaling(float from, float to) {
  return from == -mg::infinity() ? 0.0f : mg::exp2_approx(from - to);
}

__device__ __forceinline__ Piece nothing_yet() {
  return {{0.0f, 0.0f, 0.0f, 0.0f}, -mg::infinity(), 0.0f, 0.0f};
}

// sum += pieces, kCount of them, in order.
template <int kCount>
__device__ __forceinline__ void add(Piece& sum, const Piece (&pieces)[kCount]) {
  float base = sum.base;
#pragma unroll
  for (int n = 0; n < kCount; ++n) base = fmaxf(base, pieces[n].base);
  const float shrink = rescaling(sum.base, base);
#pragma unroll
  for (int c = 0; c < 4; ++c) sum.o[c] *= shrink;
  sum.sum *= shrink;
  sum.unrounded_sum *= shrink;
  sum.base = base;
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    const float factor = rescaling(pieces[n].base, base);
#pragma unroll
    for (int c = 0; c < 4; ++c) sum.o[c] += pieces[n].o[c] * factor;
    sum.sum += pieces[n].sum * factor;
    sum.unrounded_sum += pieces[n].unrounded_sum * factor;
  }
}

// Columns [column, column + 4) of a row of the block.
template <class T, bool kLse>
__device__ __forceinline__ void write(const Outputs<T>& to, int row, int column,
                                      const Piece& piece) {
  const float share = mg::share_of(piece.sum);
  float values[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) values[c] = piece.o[c] * share;
  mg::store<4>(to.o_row(row) + column, mg::from_floats<T>(values));
  if (kLse && column == 0) {
    *to.lse_row(row) =
        piece.sum == 0.0f ? -mg::infinity() : piece.base * mg::kLn2 + logf(piece.unrounded_sum);
  }
}

// The sum of a row's parts, `first` the row of the first one. Through L2: other blocks wrote them.
template <int kHeadDim, int kRows>
__device__ __forceinline__ Piece sum_of_parts(const Parts& parts, mg::i64 first, int count,
                                              int column) {
  constexpr int kAtOnce = 8;
  Piece sum = nothing_yet();
  for (int part = 0; part < count; part += kAtOnce) {
    Piece pieces[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      pieces[n] = nothing_yet();
      if (part + n >= count) continue;
      const mg::i64 row = first + mg::i64{part + n} * kRows;
      const float4 o =
          __ldcg(reinterpret_cast<const float4*>(parts.sums + row * kHeadDim + column));
      const float4 weight = __ldcg(parts.weights + row);
      pieces[n] = {{o.x, o.y, o.z, o.w}, weight.x, weight.y, weight.z};
    }
    add(sum, pieces);
  }
  return sum;
}

// Whether this block is the last of `count` to say so; what the others wrote before is visible
// then. The counter is left at zero.
__device__ __forceinline__ bool is_last(mg::u32* counter, int count) {
  MG_SHARED(mg::u32, before);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    before = atomicAdd(counter, 1u);
    if (before == static_cast<mg::u32>(count - 1)) *counter = 0;
  }
  __syncthreads();
  __threadfence();
  return before == static_cast<mg::u32>(count - 1);
}

// What a warp copies: tiles of K and V into its ring.
template <class V>
class TileCopier {
 public:
  using T = typename V::T;

  __device__ __forceinline__ TileCopier(const Cache<T>& cache)
      : cache_(cache),
        lane_row_(static_cast<int>(threadIdx.x % 32u) / V::kAcross),
        lane_piece_(static_cast<int>(threadIdx.x % 32u) % V::kAcross) {}

  // Rows [key, key + kKeys) into `tile` and the one behind it; those from `end` on become zeros.
  __device__ __forceinline__ void copy(typename V::Copies& copies, T* tile, int key,
                                       int end) const {
    constexpr int kLookups = (V::kKeys + 31) / 32;  // of a lane: pages of rows of the tile
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

 private:
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

  const Cache<T>& cache_;
  int lane_row_, lane_piece_;
};

// What a block has to do.
struct Work {
  int rows;  // that exist, of kRows
  int first_row, group, q_len;
  int keys;         // of the sequence
  int begin, end;   // of them, this block's
  int part, parts;  // of the sequence's parts
};

// Calls visit(row, column) for every fourth column of the block's rows.
template <class V, class Visit>
__device__ __forceinline__ void for_each_piece(int rows, const Visit& visit) {
  constexpr int kPieces = V::kHeadDim / 4;
  for (int i = static_cast<int>(threadIdx.x); i < rows * kPieces; i += V::kThreads) {
    visit(i / kPieces, i % kPieces * 4);
  }
}

// The block's rows and keys; gives each piece of its O to visit(row, column, piece).
template <class V, class Visit>
__device__ __forceinline__ void attend(const typename V::T* q, mg::i64 q_row, mg::i64 q_head,
                                       const Cache<typename V::T>& cache, const Work& work,
                                       const mg::AttentionScaling& scaling, const Visit& visit) {
  using T = typename V::T;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  T* const q_tile = mg::dynamic_shared<T>();
  T* const ring = q_tile + V::kRows * V::kHeadDim + warp * V::kRing;

  typename V::Copies copies;
  for (int i = static_cast<int>(threadIdx.x); i < V::kRows * V::kDimTiles; i += V::kThreads) {
    const int row = i / V::kDimTiles, piece = i % V::kDimTiles, index = work.first_row + row;
    copies.template copy_or_zero<16>(
        reinterpret_cast<unsigned char*>(q_tile) +
            mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(piece)),
        q + index / work.group * q_row + index % work.group * q_head + piece * 8, row < work.rows);
  }

  constexpr int kStep = V::kWarps * V::kKeys;
  const TileCopier<V> tiles(cache);
  int next_key = work.begin + warp * V::kKeys;
  const auto load = [&](int slot) {
    if (next_key < work.end) tiles.copy(copies, ring + slot * 2 * V::kTile, next_key, work.end);
    copies.end_group();
    next_key += kStep;
  };
#pragma unroll
  for (int slot = 0; slot < V::kStages; ++slot) load(slot);
  copies.template wait<V::kStages - 1>();
  __syncthreads();  // Q is there

  mg::AttentionRows<V> rows(scaling, q_tile);
  rows.load_q();
  const int diagonal = work.keys - work.q_len;
  const auto own = [&](int row) { return (work.first_row + row) / work.group + diagonal; };
  const int first_own = own(0), last_own = own(work.rows - 1);
  int slot = 0;
  for (int key = work.begin + warp * V::kKeys; key < work.end; key += kStep) {
    copies.template wait<V::kStages - 1>();
    __syncwarp();
    const T* const k_tile = ring + slot * 2 * V::kTile;
    typename mg::AttentionRows<V>::Scores scores;
    rows.multiply_q(scores, k_tile, [](int) {});
    rows.cap(scores, scaling);
    const int last = key + V::kKeys - 1;
    bool hides = last >= work.end;
    if constexpr (V::kCausal) hides |= last > first_own;
    if constexpr (V::kWindowed && !V::kCausal) hides |= last > first_own + scaling.window;
    if constexpr (V::kWindowed) hides |= key < last_own - scaling.window;
    if (hides) rows.mask(scores, own, key, work.keys, scaling.window);
    rows.follow_maximum(scores);
    typename mg::AttentionRows<V>::Probabilities probabilities;
#pragma unroll
    for (int step = 0; step < V::kKeys / 16; ++step) {
      rows.exponentiate(scores, step, probabilities);
    }
    rows.multiply_v(probabilities, k_tile + V::kTile);
    __syncwarp();  // its lanes have read the tile
    load(slot);
    slot = slot == V::kStages - 1 ? 0 : slot + 1;
  }
  copies.template wait<0>();
  __syncthreads();  // every warp is done with its ring

  MG_SHARED(float, of_rows, [3 * V::kWarps * V::kRows]);  // base, sum and unrounded sum
  float* const merged = mg::dynamic_shared<float>();
#pragma unroll
  for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = rows.row(i, r), place = warp * V::kRows + row;
      const float sum = rows.sum(i, r), unrounded_sum = rows.unrounded_sum(i, r);
      if (row >= work.rows) continue;
      if (lane % 4 == 0) {
        of_rows[3 * place] = rows.log2_base(i, r);
        of_rows[3 * place + 1] = sum;
        of_rows[3 * place + 2] = unrounded_sum;
      }
#pragma unroll
      for (int j = 0; j < V::kDimTiles; ++j) {
        const float* const two = rows.o(i, j, r);
        *reinterpret_cast<float2*>(merged + place * V::kMergedRow + 8 * j + lane % 4 * 2) =
            make_float2(two[0], two[1]);
      }
    }
  }
  __syncthreads();
  for_each_piece<V>(work.rows, [&](int row, int column) {
    Piece pieces[V::kWarps], sum = nothing_yet();
#pragma unroll
    for (int w = 0; w < V::kWarps; ++w) {
      const int place = w * V::kRows + row;
      const float4 o = *reinterpret_cast<const float4*>(merged + place * V::kMergedRow + column);
      pieces[w] = {
          {o.x, o.y, o.z, o.w}, of_rows[3 * place], of_rows[3 * place + 1], of_rows[3 * place + 2]};
    }
    add(sum, pieces);
    visit(row, column, sum);
  });
}

// Keys of a sequence that are cut into parts: those behind `begin`, and how many parts that makes.
struct Cut {
  int begin, parts;

  template <bool kWindowed>
  static __device__ __forceinline__ Cut of(int keys, int q_len, int window, int chunk,
                                           int most_parts) {
    const int begin = kWindowed ? most(0, keys - q_len - window) : 0;
    return {begin, most(1, least((keys - begin + chunk - 1) / chunk, most_parts))};
  }
};

// The first rows that this block will read, into L2. kv_len bounds the length, which may not be
// read yet.
template <class V>
__device__ __forceinline__ void prefetch(const Cache<typename V::T>& cache, int begin, int end) {
  const int last = least(end, begin + V::kStages * V::kWarps * V::kKeys);
  for (int key = begin + static_cast<int>(threadIdx.x); key < last; key += V::kThreads) {
    mg::bulk_prefetch_to_l2(cache.k + key * cache.k_row, V::kRowBytes);
    mg::bulk_prefetch_to_l2(cache.v + key * cache.v_row, V::kRowBytes);
  }
}

// Grid: kv_heads times the blocks of rows, parts, sequences.
template <class T, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, int BLOCKS_PER_SM,
          COMBINE HOW, bool PDL, bool PAGED, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_decode(const T* q, const T* k, const T* v, const int* kv_lens, const int* block_table,
                     T* o, float* lse, float* part_sums, float* part_weights, mg::u32* counters,
                     float scale, float softcap, int q_len, int kv_len, int heads, int kv_heads,
                     int window, int page_size, int max_pages, int chunk, mg::i64 q_sb,
                     mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb, mg::i64 k_ss, mg::i64 k_sh,
                     mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh, mg::i64 o_sb, mg::i64 o_ss,
                     mg::i64 o_sh) {
  using V =
      Variant<T, HEAD_DIM, ROWS, BLOCK_N, WARPS, STAGES, PAGED, CAUSAL, WINDOWED, CAPPED, LSE>;
  const int b = static_cast<int>(blockIdx.z), part = static_cast<int>(blockIdx.y);
  const int kv_head = static_cast<int>(blockIdx.x) % kv_heads;
  const int group = heads / kv_heads, first_head = kv_head * group;
  const int first_row = static_cast<int>(blockIdx.x) / kv_heads * ROWS;
  Cache<T> cache{k + kv_head * k_sh, v + kv_head * v_sh, k_sb, k_ss, v_sb, v_ss, nullptr,
                 page_size};
  if constexpr (PAGED) {
    cache.pages = block_table + mg::i64{b} * max_pages;
  } else {
    cache.k += b * k_sb;
    cache.v += b * v_sb;
  }
  if constexpr (PDL) {
    mg::let_next_grid_start();
    if constexpr (!PAGED && !WINDOWED) {
      prefetch<V>(cache, part * chunk, least(kv_len, (part + 1) * chunk));
    }
    mg::wait_for_previous_grid();
  }
  const int keys = kv_lens[b];
  const Cut cut = Cut::of<WINDOWED>(keys, q_len, window, chunk, static_cast<int>(gridDim.y));
  if (part >= cut.parts) return;
  const int begin = cut.begin + part * chunk;
  // The last part has the rest even of a sequence that is longer than kv_len.
  const int end = part + 1 == cut.parts ? keys : begin + chunk;
  const int rows = least(ROWS, group * q_len - first_row);
  const Work work{rows, first_row, group, q_len, keys, begin, end, part, cut.parts};
  const Outputs<T> outputs{o + b * o_sb, LSE ? lse + mg::i64{b} * heads * q_len : nullptr,
                           o_ss,         o_sh,
                           first_row,    first_head,
                           group,        q_len};
  const Parts parts{part_sums, reinterpret_cast<float4*>(part_weights)};
  const int tile = b * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
  const mg::i64 first_part_row = mg::i64{tile} * gridDim.y * ROWS;
  const mg::i64 own_part_row = first_part_row + mg::i64{part} * ROWS;

  attend<V>(q + b * q_sb + first_head * q_sh, q_ss, q_sh, cache, work, {scale, softcap, window},
            [&](int row, int column, const Piece& piece) {
              if (cut.parts == 1) {
                write<T, LSE>(outputs, row, column, piece);
                return;
              }
              *reinterpret_cast<float4*>(parts.sums + (own_part_row + row) * HEAD_DIM + column) =
                  make_float4(piece.o[0], piece.o[1], piece.o[2], piece.o[3]);
              if (column == 0) {
                parts.weights[own_part_row + row] =
                    make_float4(piece.base, piece.sum, piece.unrounded_sum, 0.0f);
              }
            });
  if constexpr (HOW == COMBINE::last_block) {
    if (cut.parts == 1 || !is_last(counters + tile, cut.parts)) return;
    for_each_piece<V>(rows, [&](int row, int column) {
      write<T, LSE>(outputs, row, column,
                    sum_of_parts<HEAD_DIM, ROWS>(parts, first_part_row + row, cut.parts, column));
    });
  }
}

// The sums of parts: every fourth column of a row a thread. Grid: so many threads for the rows of
// a sequence and one head of keys, heads of keys, sequences.
template <class T, int HEAD_DIM, int ROWS, int THREADS, bool PDL, bool WINDOWED, bool LSE>
__global__ void __launch_bounds__(THREADS)
    attention_decode_combine(const int* kv_lens, T* o, float* lse, const float* part_sums,
                             const float* part_weights, int q_len, int heads, int kv_heads,
                             int window, int chunk, int most_parts, mg::i64 o_sb, mg::i64 o_ss,
                             mg::i64 o_sh) {
  if constexpr (PDL) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  constexpr int kPieces = HEAD_DIM / 4;
  const int b = static_cast<int>(blockIdx.z), kv_head = static_cast<int>(blockIdx.y);
  const int group = heads / kv_heads;
  const Cut cut = Cut::of<WINDOWED>(kv_lens[b], q_len, window, chunk, most_parts);
  const int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x);
  const int row = i / kPieces, column = i % kPieces * 4;
  if (cut.parts == 1 || row >= group * q_len) return;
  const int row_blocks = (group * q_len + ROWS - 1) / ROWS;
  const mg::i64 tile = (mg::i64{b} * row_blocks + row / ROWS) * kv_heads + kv_head;
  const Parts parts{const_cast<float*>(part_sums),
                    const_cast<float4*>(reinterpret_cast<const float4*>(part_weights))};
  const Outputs<T> outputs{o + b * o_sb,
                           LSE ? lse + mg::i64{b} * heads * q_len : nullptr,
                           o_ss,
                           o_sh,
                           0,
                           kv_head * group,
                           group,
                           q_len};
  write<T, LSE>(outputs, row, column,
                sum_of_parts<HEAD_DIM, ROWS>(parts, tile * most_parts * ROWS + row % ROWS,
                                             cut.parts, column));
}
