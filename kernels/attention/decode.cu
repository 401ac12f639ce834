// attention.decode  o[b, i, h] = sum over visible j of softmax(logit[j]) * v[b, j, h / group]
//                   logit[j] = scale * dot(q[b, i, h], k[b, j, h / group])
//                   lse[b, h, i] = log(sum over visible j of exp(logit[j]))
//
// There are few queries (i < q_len) and a cache with keys[b] rows; keys[] lies in device memory.
//   causal     Query i sees key j if j <= i + keys - q_len. So the last query sees every key.
//   windowed   Query i does not see keys that are further than `window` from i + keys - q_len.
//   capped     Each logit becomes softcap * tanh(logit / softcap) first.
//   paged      Row j of sequence b is row j % page_size of page block_table[b, j / page_size].
// A query that sees no key gives o = 0 and lse = -inf. scale is positive.
//
// The plain version: one block computes one query of one head.
//
//   __global__ void decode(const T* q, const T* k, const T* v, T* o, int* keys, float scale) {
//     int b = blockIdx.x / heads, h = blockIdx.x % heads;
//     float maximum = -INFINITY, sum = 0, out[head_dim] = {0};
//     for (int j = 0; j < keys[b]; j++) {
//       float logit = scale * block_dot(q[b][h], k[b][j][h / group]);
//       float higher = fmaxf(maximum, logit), shrink = expf(maximum - higher);
//       float p = expf(logit - higher);
//       for (int d = 0; d < head_dim; d++) out[d] = out[d] * shrink + p * v[b][j][h / group][d];
//       sum = sum * shrink + p;
//       maximum = higher;
//     }
//     for (int d = 0; d < head_dim; d++) o[b][h][d] = out[d] / sum;
//   }
//
// It is slow: the heads of a group each read the same K and V, one block walks over a long cache
// alone, and it waits for one row of keys at a time.
//
// Algorithm  The queries of all heads that share a head of keys are the rows of one matrix. K and V
//            are read once for all of them.
//            A sequence is cut into chunks, so that all SMs work on it. A block has ROWS rows and
//            one chunk; its warps take tiles of BLOCK_N keys in turn.
//            Each warp copies its own tiles by cp.async, STAGES ahead. It waits for no other warp,
//            which saves every barrier between the first tile and the last.
//            A warp keeps Q, the softmax and its own O of all rows in registers. At the end the O,
//            maxima and sums of the warps meet in shared memory.
//            A sequence of one chunk is then written at once. The parts of other sequences are
//            added in the order of their keys, in one of three ways:
//              COMBINE last_block   The parts lie in the workspace. A counter finds the block that
//                                   ends last; it adds them up and sets the counter to zero again.
//              COMBINE kernel       A second kernel adds them up.
//              attention_decode_cluster   The chunks are the blocks of a cluster. Each block
//                                   adds up an equal share of O in its shared memory.
// Traffic    It reads K and V of the visible keys once per ROWS rows (from L2 after the first
//            time), q and the lengths. It writes o. A part has 4 * head_dim + 16 bytes per row,
//            which are written and read through L2. In groups of 4 heads this is 1 / 8 of the bytes
//            of a chunk of 64 keys, and 1 / 64 of those of a chunk of 512.
// Work       4 * heads * q_len * keys * head_dim flops. If heads * q_len / kv_heads <= 16, this is
//            an eighth of what mma.sync does while the bytes arrive: the kernel is bound by memory.
// Expected   On an H200 with 32 query heads, 8 KV heads of 128, bf16; a kernel that only reads gets
//            4.4 TB/s. A launch takes 2.5 us, less if it overlaps the kernel before. The length
//            takes 0.5 us, the first tiles 1 us, the sum of the warps 0.5 us, and the sum of the
//            parts 1.5 us (0.7 us in a cluster). These 5 us and the bytes give, in us:
//              batch 1    1k    4 MB    1 + 5 =   6    8k   34 MB    8 + 5 =  13
//                        32k  134 MB   30 + 5 =  35
//              batch 8    1k   34 MB    8 + 5 =  13    8k  268 MB   61 + 5 =  66
//                        32k  1.1 GB  244 + 5 = 249
//              batch 64   8k  2.1 GB  488 + 5 = 493   32k  8.6 GB             1957
// Tunables   ROWS      The rows of Q that a block computes with. 32 is for more than 16 rows.
//            BLOCK_N   The keys of a warp's tile. More keys need fewer steps and have more products
//                      side by side, but need registers.
//            WARPS     The warps that share a chunk. More warps leave more sums to merge at the
//                      end.
//            STAGES    The tiles in flight. An SM needs 33 KB in flight, and 64 to 128 KB are
//                      better. A block has WARPS * STAGES * BLOCK_N * 4 * head_dim bytes.
//            BLOCKS_PER_SM   The blocks that the compiler leaves registers for.
//            GRID_BLOCKS     The blocks per SM that chunks are cut for. Fewer blocks have fewer
//                            parts to add up; more blocks even out the end.
//            COMBINE   last_block needs no second launch. kernel has more threads for the last sum.
//            CLUSTER   The parts of a sequence. More parts are more blocks with fewer keys each.
//            PDL       The grid starts while the grid before it ends, and brings its first rows of
//                      K and V into L2. The second kernel is ready when the first one ends.
// Numerics   As in prefill.cu: products are exact, sums and softmax are fp32, P is rounded to T,
//            row sums add the rounded P (lse has its own sum), and o is rounded once. Parts are
//            fp32 and are added in a fixed order: two runs give the same bits.

#include <mg/async_copy.cuh>
#include <mg/attention_parts.cuh>
#include <mg/attention_rows.cuh>
#include <mg/bulk_copy.cuh>
#include <mg/cluster.cuh>
#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/last_block.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class COMBINE { kernel, last_block };

using mg::least;
using mg::most;

// The constants of a variant.
template <class T_, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, bool PAGED,
          bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
struct Variant {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kRows = ROWS, kKeys = BLOCK_N;
  static constexpr int kWarps = WARPS, kThreads = 32 * WARPS, kStages = STAGES;
  static constexpr int kRowTiles = ROWS / 16, kKeyTiles = BLOCK_N / 8, kDimTiles = HEAD_DIM / 8;
  static constexpr int kRowBytes = HEAD_DIM * 2;
  // Q takes half as many registers as O. If that is too many, Q is read again for every tile.
  static constexpr bool kQInRegisters = ROWS * HEAD_DIM <= 2048;
  static constexpr bool kSumByMma = false, kSeldom = true;
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

  // Shared memory, in elements of T: Q, then a ring of tiles of K and V per warp. At the end the O
  // of the warps lie in the same place as floats. Each row of them is 8 floats longer than
  // head_dim, so that the rows of one store lie in different banks.
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
    constexpr int kLookups = (V::kKeys + 31) / 32;  // a lane looks up the pages of so many rows
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

  Cache<T> cache_;
  int lane_row_, lane_piece_;
};

// How a sequence is cut: its keys from `begin` on are cut into `parts` parts.
struct Cut {
  int begin, parts;

  template <bool kWindowed>
  static __device__ __forceinline__ Cut of(int keys, int q_len, int window, int chunk,
                                           int most_parts) {
    const int begin = kWindowed ? most(0, keys - q_len - window) : 0;
    return {begin, most(1, least((keys - begin + chunk - 1) / chunk, most_parts))};
  }
};

// Prefetches the first rows that this block will read into L2. `end` comes from kv_len, a bound of
// the length; the length itself may not be read yet.
template <class V>
__device__ __forceinline__ void prefetch(const Cache<typename V::T>& cache, int begin, int end) {
  const int last = least(end, begin + V::kStages * V::kWarps * V::kKeys);
  for (int key = begin + static_cast<int>(threadIdx.x); key < last; key += V::kThreads) {
    mg::bulk_prefetch_to_l2(cache.k + key * cache.k_row, V::kRowBytes);
    mg::bulk_prefetch_to_l2(cache.v + key * cache.v_row, V::kRowBytes);
  }
}

// The arguments of the kernels.
template <class T>
struct Given {
  const T *q, *k, *v;
  const int *kv_lens, *block_table;
  T* o;
  float* lse;
  mg::AttentionScaling scaling;
  int q_len, kv_len, heads, kv_heads, page_size, max_pages, chunk;
  mg::i64 q_sb, q_ss, q_sh, k_sb, k_ss, k_sh, v_sb, v_ss, v_sh, o_sb, o_ss, o_sh;
};

// The work of a block. blockIdx.x is a head of keys and a block of its rows, blockIdx.y a part,
// blockIdx.z a sequence.
template <class V>
struct Place {
  using T = typename V::T;
  int sequence, part, kv_head, group, first_row, rows;

  __device__ __forceinline__ explicit Place(const Given<T>& in)
      : sequence(static_cast<int>(blockIdx.z)),
        part(static_cast<int>(blockIdx.y)),
        kv_head(static_cast<int>(blockIdx.x) % in.kv_heads),
        group(in.heads / in.kv_heads),
        first_row(static_cast<int>(blockIdx.x) / in.kv_heads * V::kRows),
        rows(least(V::kRows, group * in.q_len - first_row)) {}

  __device__ __forceinline__ const T* q(const Given<T>& in) const {
    return in.q + sequence * in.q_sb + kv_head * group * in.q_sh;
  }

  __device__ __forceinline__ Cache<T> cache(const Given<T>& in) const {
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

  __device__ __forceinline__ Outputs<T> outputs(const Given<T>& in) const {
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

// Prefetches and waits until this grid may read what earlier grids wrote.
template <class V, bool kPdl>
__device__ __forceinline__ void begin(const Given<typename V::T>& in, const Place<V>& place) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    if constexpr (!V::kPaged && !V::kWindowed) {
      const int first = place.part * in.chunk;
      prefetch<V>(place.cache(in), first, least(in.kv_len, first + in.chunk));
    }
    mg::wait_for_previous_grid();
  }
}

// The sums of a block's warps in shared memory. All threads of the block call its functions.
template <class V>
struct Merged {
  float* const sums = mg::dynamic_shared<float>();  // one row per warp and row of the block
  float* const weights = sums + V::kMergedRows * V::kMergedRow;

  __device__ __forceinline__ void put(const mg::AttentionRows<V>& own, int rows) const {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = own.row(i, r), place = warp * V::kRows + row;
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
  // the warps.
  template <class Visit>
  __device__ __forceinline__ void for_each_piece(int rows, const Visit& visit) const {
    constexpr int kPieces = V::kHeadDim / 4;
    for (int i = static_cast<int>(threadIdx.x); i < rows * kPieces; i += V::kThreads) {
      const int row = i / kPieces, column = i % kPieces * 4;
      mg::AttentionPiece pieces[V::kWarps], sum = mg::no_keys();
#pragma unroll
      for (int w = 0; w < V::kWarps; ++w) {
        const int place = w * V::kRows + row;
        pieces[w] = {*reinterpret_cast<const float4*>(sums + place * V::kMergedRow + column),
                     *reinterpret_cast<const float4*>(weights + place * 4)};
      }
      mg::add(sum, pieces);
      visit(row, column, sum);
    }
  }
};

// Computes attention of a block's rows over keys [first_key, end_key) of a sequence that has `keys`
// keys.
template <class V>
__device__ __forceinline__ Merged<V> attend(const Given<typename V::T>& in, const Place<V>& place,
                                            int keys, int first_key, int end_key) {
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
  const int diagonal = keys - in.q_len, window = in.scaling.window;
  const auto own = [&](int row) { return (place.first_row + row) / place.group + diagonal; };
  const int first_own = own(0), last_own = own(place.rows - 1);
  int slot = 0;
  for (int key = first_key + warp * V::kKeys; key < end_key; key += kStep) {
    copies.template wait<V::kStages - 1>();
    __syncwarp();
    const T* const k_tile = ring + slot * 2 * V::kTile;
    typename mg::AttentionRows<V>::Scores scores;
    rows.multiply_q(scores, k_tile, [](int) {});
    rows.cap(scores, in.scaling);
    const int last = key + V::kKeys - 1;
    bool hides = last >= end_key;
    if constexpr (V::kCausal) hides |= last > first_own;
    if constexpr (V::kWindowed && !V::kCausal) hides |= last > first_own + window;
    if constexpr (V::kWindowed) hides |= key < last_own - window;
    if (hides) rows.mask(scores, own, key, keys, window);
    rows.follow_maximum(scores);
    typename mg::AttentionRows<V>::Probabilities probabilities;
#pragma unroll
    for (int step = 0; step < V::kKeys / 16; ++step) {
      rows.exponentiate(scores, step, probabilities);
    }
    rows.multiply_v(probabilities, k_tile + V::kTile);
    __syncwarp();  // All lanes have read the tile.
    load(slot);
    slot = slot == V::kStages - 1 ? 0 : slot + 1;
  }
  copies.template wait<0>();
  __syncthreads();  // Every warp is done with its ring.
  const Merged<V> merged;
  merged.put(rows, place.rows);
  __syncthreads();
  return merged;
}

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
  const Given<T> in{
      q,     k,      v,     kv_lens,  block_table, o,         lse,   {scale, softcap, window},
      q_len, kv_len, heads, kv_heads, page_size,   max_pages, chunk, q_sb,
      q_ss,  q_sh,   k_sb,  k_ss,     k_sh,        v_sb,      v_ss,  v_sh,
      o_sb,  o_ss,   o_sh};
  const Place<V> place(in);
  begin<V, PDL>(in, place);
  const int keys = kv_lens[place.sequence];
  const Cut cut = Cut::of<WINDOWED>(keys, q_len, window, chunk, static_cast<int>(gridDim.y));
  if (place.part >= cut.parts) return;
  const int first_key = cut.begin + place.part * chunk;
  // The last part has the rest of the sequence, even if the sequence is longer than kv_len.
  const int end_key = place.part + 1 == cut.parts ? keys : first_key + chunk;
  const mg::AttentionParts<HEAD_DIM, ROWS> parts{part_sums, part_weights};
  const int tile = place.sequence * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
  const mg::i64 first_part = mg::i64{tile} * gridDim.y;
  const Outputs<T> outputs = place.outputs(in);
  const Merged<V> merged = attend(in, place, keys, first_key, end_key);
  merged.for_each_piece(place.rows, [&](int row, int column, const mg::AttentionPiece& piece) {
    if (cut.parts == 1) {
      write<T, LSE>(outputs, row, column, piece);
    } else {
      parts.put(first_part + place.part, row, column, piece);
    }
  });
  if constexpr (HOW == COMBINE::last_block) {
    if (cut.parts == 1 || !mg::is_last_block(counters + tile, cut.parts)) return;
    constexpr int kPieces = HEAD_DIM / 4;
    for (int i = static_cast<int>(threadIdx.x); i < place.rows * kPieces; i += V::kThreads) {
      const int row = i / kPieces, column = i % kPieces * 4;
      write<T, LSE>(outputs, row, column, parts.sum(first_part, cut.parts, row, column));
    }
  }
}

// The parts of a sequence are the blocks of a cluster. Each block owns an equal share of the pieces
// of O. All blocks send it their values for this share, into shared memory behind the rings, where
// nothing else lies. The owner adds them up and writes them.
template <class T, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, int BLOCKS_PER_SM,
          int CLUSTER, bool PDL, bool PAGED, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_decode_cluster(const T* q, const T* k, const T* v, const int* kv_lens,
                             const int* block_table, T* o, float* lse, float scale, float softcap,
                             int q_len, int kv_len, int heads, int kv_heads, int window,
                             int page_size, int max_pages, int chunk, mg::i64 q_sb, mg::i64 q_ss,
                             mg::i64 q_sh, mg::i64 k_sb, mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_sb,
                             mg::i64 v_ss, mg::i64 v_sh, mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
  using V =
      Variant<T, HEAD_DIM, ROWS, BLOCK_N, WARPS, STAGES, PAGED, CAUSAL, WINDOWED, CAPPED, LSE>;
  constexpr int kStep = WARPS * BLOCK_N;
  const Given<T> in{
      q,     k,      v,     kv_lens,  block_table, o,         lse,   {scale, softcap, window},
      q_len, kv_len, heads, kv_heads, page_size,   max_pages, chunk, q_sb,
      q_ss,  q_sh,   k_sb,  k_ss,     k_sh,        v_sb,      v_ss,  v_sh,
      o_sb,  o_ss,   o_sh};
  mg::cluster_arrive();
  const Place<V> place(in);
  begin<V, PDL>(in, place);
  // Parts are cut by the length of the sequence itself, because every block of the cluster runs in
  // any case.
  const int keys = kv_lens[place.sequence];
  const int begin_key = WINDOWED ? most(0, keys - q_len - window) : 0;
  const int share = (keys - begin_key + CLUSTER * kStep - 1) / (CLUSTER * kStep) * kStep;
  const int first_key = begin_key + place.part * share;

  const Outputs<T> outputs = place.outputs(in);
  const Merged<V> merged = attend(in, place, keys, first_key, least(keys, first_key + share));

  constexpr int kPieces = HEAD_DIM / 4;
  auto* const slots = reinterpret_cast<float4*>(mg::dynamic_shared<unsigned char>() + V::kBytes);
  const int pieces = place.rows * kPieces, share_of_pieces = (pieces + CLUSTER - 1) / CLUSTER;
  const int rank = static_cast<int>(mg::cluster_rank());
  mg::cluster_wait();
  merged.for_each_piece(place.rows, [&](int row, int column, const mg::AttentionPiece& piece) {
    const int index = row * kPieces + column / 4;
    const mg::u32 owner = static_cast<mg::u32>(index / share_of_pieces);
    float4* const slot = slots + 2 * (index % share_of_pieces * CLUSTER + rank);
    mg::store_to_block(slot, owner, piece.o);
    mg::store_to_block(slot + 1, owner, piece.weight);
  });
  __syncwarp();
  mg::cluster_arrive();
  mg::cluster_wait();
  const int first = rank * share_of_pieces, end = least(pieces, first + share_of_pieces);
  for (int index = first + static_cast<int>(threadIdx.x); index < end; index += V::kThreads) {
    const float4* const own_slots = slots + 2 * (index - first) * CLUSTER;
    const mg::AttentionPiece sum = mg::sum_of_pieces(CLUSTER, [&](int part) {
      return mg::AttentionPiece{own_slots[2 * part], own_slots[2 * part + 1]};
    });
    write<T, LSE>(outputs, index / kPieces, index % kPieces * 4, sum);
  }
}

// Adds up the parts. A thread computes four columns of a row. blockIdx.x counts the threads for the
// rows of one sequence and head of keys, blockIdx.y the heads of keys, blockIdx.z the sequences.
template <class T, int HEAD_DIM, int ROWS, int THREADS, bool PDL, bool WINDOWED, bool LSE>
__global__ void __launch_bounds__(THREADS)
    attention_decode_combine(const int* kv_lens, T* o, float* lse, float* part_sums,
                             float* part_weights, int q_len, int heads, int kv_heads, int window,
                             int chunk, int most_parts, mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
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
  const mg::AttentionParts<HEAD_DIM, ROWS> parts{part_sums, part_weights};
  const Outputs<T> outputs{o + b * o_sb,
                           LSE ? lse + mg::i64{b} * heads * q_len : nullptr,
                           o_ss,
                           o_sh,
                           0,
                           kv_head * group,
                           group,
                           q_len};
  write<T, LSE>(outputs, row, column, parts.sum(tile * most_parts, cut.parts, row % ROWS, column));
}
