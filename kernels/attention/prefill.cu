// attention.prefill  o[b, i, h] = sum over visible j of softmax(logit[j]) * v[b, j, h / group]
//                    logit[j] = scale * dot(q[b, i, h], k[b, j, h / group])
//                    lse[b, h, i] = log(sum over visible j of exp(logit[j]))
// attention.varlen   the same, sequence by sequence of a batch that is packed without padding
//
//   causal     key j is visible to query i where j <= i + keys - queries: the last query sees all
//   windowed   keys further than `window` from i + keys - queries are not visible
//   capped     logits go through softcap * tanh(logit / softcap) first
// A query that sees no key gives o = 0 and lse = -inf. scale is positive.
//
// Algorithm  FlashAttention-2 on mma.sync. A block owns BLOCK_M queries of one head and walks over
//            its keys in tiles of BLOCK_N, from the last to the first; K and V arrive in shared
//            memory by cp.async while the tile before is worked on. A warp owns whole rows, 16 to
//            64 of them: S = Q K^T, the softmax and O += P V stay in its registers, row sums and
//            maxima need two shuffles in a quad, and S is P's operand as it lies there. Scale and
//            log2(e) are one factor, so that an exponential is a fused multiply-add and one ex2.
//            Tiles that every row of a warp sees whole have no mask; those that no row sees are
//            neither loaded nor computed. The longest rows of blocks start first.
// Traffic    reads q once, k and v once for each head of a group and each BLOCK_M queries (from L2,
//            where the blocks of a head meet), writes o: 2 * head_dim * (2 * queries * heads +
//            2 * keys * kv_heads) bytes must move, 4 % of the time at 4096 tokens.
// Work       4 * queries * keys * head_dim flops a head, half of it where causal: bound by the
//            tensor cores, which do 2490 flops an SM and clock by mma.sync (652 TFLOP/s of an H200
//            at 1980 MHz, 72 % of its wgmma). Beside the products of a tile, as shares of their
//            time: exponentials (16 an SM and clock) 0.62 at head_dim 64, 0.31 at 128, 0.16 at 256;
//            shared memory (128 bytes a clock), for K, V, Q and the copies, 0.9 with 32 rows a
//            warp, 1.3 with 16, 0.7 with 48, and 0.15 less where Q is in registers. Blocks hide one
//            another's softmax, not all of it: FlashAttention-2 gets 51 % of the 652. Expected on
//            an H200: 330 to 400 TFLOP/s full at head_dim 128, 300 to 360 at 64, 290 to 340 at 256;
//            causal 5 to 10 % less at 4096 tokens, 20 % less at 1024.
// Tunables   BLOCK_M     queries of a block: traffic from L2 and copies a product, fewer blocks
//            BLOCK_N     keys of a tile: fewer barriers and rescalings, registers for S
//            WARPS       BLOCK_M / WARPS rows a warp, 16 to 64: K and V are read from shared memory
//                        once for all of them, against registers for each
//            STAGES      tiles of K and V in shared memory. 1: K's next tile arrives during the
//                        softmax, V's during Q K^T, two barriers a tile; more: one barrier
//            Q_IN_REGS   Q stays in registers instead of being read for every tile
//            OVERLAP     Q K^T of the next tile stands among the exponentials of this one
//            ROW_SUM     alu: adds what the products will see; mma: a column of ones beside V
//            RESCALE     always: O follows each new maximum. seldom: only one that is 2^8 above
//            BLOCKS_PER_SM   that the compiler leaves registers for
//            HEADS_AT_ONCE   heads (times batch) whose blocks start longest first, together
// Numerics   products exact, sums, softmax and O in fp32; P is rounded to T, and row sums add the
//            rounded P, so that V of ones gives exactly 1 (lse has a sum of its own, of what was
//            not rounded). o is rounded once. RESCALE seldom lets P grow to 2^8. The order of all
//            sums is fixed by the parameters.

#include <mg/async_copy.cuh>
#include <mg/attention_rows.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class ROW_SUM { alu, mma };
enum class RESCALE { always, seldom };

using mg::least;
using mg::most;
using Scaling = mg::AttentionScaling;

// What a variant is.
template <class T_, int HEAD_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES, bool Q_IN_REGS,
          bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, bool CAUSAL, bool WINDOWED, bool CAPPED,
          bool LSE>
struct Variant {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kRows = BLOCK_M, kKeys = BLOCK_N, kStages = STAGES;
  static constexpr int kThreads = 32 * WARPS;
  static constexpr int kRowTiles = BLOCK_M / (16 * WARPS);  // of 16 rows, a warp
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kKeyTiles = BLOCK_N / 8, kDimTiles = HEAD_DIM / 8;  // of 8 columns
  static constexpr int kRowBytes = HEAD_DIM * 2;
  static constexpr bool kQInRegisters = Q_IN_REGS, kOverlap = OVERLAP;
  static constexpr bool kSumByMma = SUM == ROW_SUM::mma, kSeldom = SCALING == RESCALE::seldom;
  static constexpr bool kCausal = CAUSAL, kWindowed = WINDOWED, kCapped = CAPPED, kLse = LSE;
  static_assert(BLOCK_M % (16 * WARPS) == 0 && BLOCK_N % 16 == 0 && HEAD_DIM % 32 == 0,
                "whole fragments");
  static_assert(!OVERLAP || STAGES > 1, "the next tile is there");

  // Rows that a pass of the block copies, `kAcross` threads each.
  static constexpr int kAcross = HEAD_DIM % 128 == 0 ? 16 : HEAD_DIM % 64 == 0 ? 8 : 4;
  static constexpr int kCopiedAtOnce = kThreads / kAcross;
  template <int kTileRows>
  static constexpr int kCopiesOf = (kTileRows + kCopiedAtOnce - 1) / kCopiedAtOnce*(kDimTiles /
                                                                                    kAcross);
  using Copies = mg::AsyncCopies<kCopiesOf<BLOCK_M> + 2 * STAGES * kCopiesOf<BLOCK_N> + 1>;
};

// One head of one sequence.
template <class T>
struct Sequence {
  const T *q, *k, *v;
  T* o;
  float* lse;                                      // or null
  mg::i64 q_stride, k_stride, v_stride, o_stride;  // in elements, of a row
  int rows, keys;
};

// What a thread copies of tiles of a matrix: every kCopiedAtOnce-th row, in swizzled shared memory
// too, so that its places in a tile are a fixed distance apart.
template <class V>
class TileCopier {
 public:
  using T = typename V::T;

  __device__ __forceinline__ TileCopier(const T* matrix, mg::i64 stride)
      : first_row_(static_cast<int>(threadIdx.x) / V::kAcross),
        first_piece_(static_cast<int>(threadIdx.x) % V::kAcross),
        stride_(stride),
        from_(matrix + first_row_ * stride + first_piece_ * 8) {}

  // Rows [row, row + kRows) into `tile`; kIsLast: those from `rows` on become zeros.
  template <int kRows, bool kIsLast>
  __device__ __forceinline__ void copy(typename V::Copies& copies, T* tile, int row,
                                       int rows) const {
    const T* from = from_ + row * stride_;
    auto* const to = reinterpret_cast<unsigned char*>(tile);
#pragma unroll
    for (int start = 0; start < kRows; start += V::kCopiedAtOnce) {
      if (kRows % V::kCopiedAtOnce != 0 && start + first_row_ >= kRows) break;
#pragma unroll
      for (int across = 0; across < V::kDimTiles; across += V::kAcross) {
        const auto place =
            to + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(start + first_row_),
                                            static_cast<mg::u32>(across + first_piece_));
        if constexpr (kIsLast) {
          copies.template copy_or_zero<16>(place, from + across * 8,
                                           row + start + first_row_ < rows);
        } else {
          copies.template copy<16>(place, from + across * 8);
        }
      }
      from += V::kCopiedAtOnce * stride_;
    }
  }

 private:
  int first_row_, first_piece_;
  mg::i64 stride_;
  const T* from_;
};

// O and lse of rows [row0, ...) of the sequence, through this warp's rows of Q's place.
template <class V>
__device__ __forceinline__ void write(const mg::AttentionRows<V>& rows,
                                      const Sequence<typename V::T>& at, int row0,
                                      typename V::T* q_rows) {
  using T = typename V::T;
  const mg::u32 lane = threadIdx.x % 32u;
  auto* const q = reinterpret_cast<unsigned char*>(q_rows);
  __syncwarp();  // its lanes have read Q
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
        memcpy(q + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(j)) +
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
    const auto* const from = reinterpret_cast<const T*>(
        q + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(piece)));
    mg::store<8>(at.o + (row0 + row) * at.o_stride + piece * 8, mg::load<8>(from));
  }
}

// The keys that rows of a block see, in tiles; tile 0 is the last one.
template <class V>
struct Tiles {
  int first_row, diagonal, first_tile, count;

  template <class T>
  __device__ __forceinline__ Tiles(const Sequence<T>& at, int first_row, int window)
      : first_row(first_row), diagonal(at.keys - at.rows) {
    const int last_own = least(first_row + V::kRows, at.rows) - 1 + diagonal;
    int end = at.keys, begin = 0;
    if constexpr (V::kCausal) end = least(end, last_own + 1);
    if constexpr (V::kWindowed && !V::kCausal) end = least(end, last_own + window + 1);
    if constexpr (V::kWindowed) begin = most(0, first_row + diagonal - window);
    first_tile = begin / V::kKeys;
    count = end <= begin ? 0 : (end + V::kKeys - 1) / V::kKeys - first_tile;
  }

  __device__ __forceinline__ int key(int tile) const {
    return (first_tile + count - 1 - tile) * V::kKeys;
  }
};

// One block's work: rows [first_row, first_row + BLOCK_M) of a sequence.
template <class V>
__device__ __forceinline__ void attend(const Sequence<typename V::T>& at, int first_row,
                                       const Scaling& scaling) {
  using T = typename V::T;
  constexpr int kTile = V::kKeys * V::kHeadDim, kStages = V::kStages;
  T* const q_tile = mg::dynamic_shared<T>();
  T* const k_tiles = q_tile + V::kRows * V::kHeadDim;
  T* const v_tiles = k_tiles + kStages * kTile;

  const Tiles<V> tiles(at, first_row, scaling.window);
  typename V::Copies copies;
  const TileCopier<V> k(at.k, at.k_stride), v(at.v, at.v_stride);
  // Only tile 0 may have rows behind the end. Tiles that there are not are not loaded.
  const auto load_first = [&](const TileCopier<V>& matrix, T* to) {
    matrix.template copy<V::kKeys, true>(copies, to, tiles.key(0), at.keys);
  };
  const auto load = [&](const TileCopier<V>& matrix, int tile, T* to) {
    if (tile < tiles.count) {
      matrix.template copy<V::kKeys, false>(copies, to, tiles.key(tile), at.keys);
    }
  };
  const auto k_slot = [&](int slot) { return k_tiles + slot * kTile; };
  const auto v_slot = [&](int slot) { return v_tiles + slot * kTile; };

  const int own_rows = static_cast<int>(threadIdx.x) / 32 * V::kWarpRows;
  T* const q_rows = q_tile + own_rows * V::kHeadDim;
  mg::AttentionRows<V> rows(scaling, q_rows);
  const int row0 = first_row + own_rows;
  // Of this warp's rows: those of the first and of the last are the bounds of what all or any see.
  const int first_own = row0 + tiles.diagonal;
  const int last_own = least(row0 + V::kWarpRows, at.rows) - 1 + tiles.diagonal;
  typename mg::AttentionRows<V>::Scores scores;
  typename mg::AttentionRows<V>::Probabilities probabilities;
  const auto nothing = [](int) {};

  const auto sees = [&](int tile) {
    const int key = tiles.key(tile);
    if (row0 >= at.rows) return false;
    if (V::kCausal && key > last_own) return false;
    if (V::kWindowed && !V::kCausal && key > last_own + scaling.window) return false;
    return !V::kWindowed || key + V::kKeys > first_own - scaling.window;
  };
  const auto cap_and_mask = [&](int tile) {
    rows.cap(scores, scaling);
    const int key = tiles.key(tile), last = key + V::kKeys - 1;
    bool hides = last >= at.keys;
    if constexpr (V::kCausal) hides |= last > first_own;
    if constexpr (V::kWindowed && !V::kCausal) hides |= last > first_own + scaling.window;
    if constexpr (V::kWindowed) hides |= key < last_own - scaling.window;
    if (hides) {
      const auto own = [&](int row) { return row0 + row + tiles.diagonal; };
      rows.mask(scores, own, key, at.keys, scaling.window);
    }
  };
  const auto exponentiate = [&] {
#pragma unroll
    for (int step = 0; step < V::kKeys / 16; ++step) {
      rows.exponentiate(scores, step, probabilities);
    }
  };
  const auto softmax = [&](int tile) {
    cap_and_mask(tile);
    rows.follow_maximum(scores);
    exponentiate();
  };

  if (tiles.count > 0) {
    TileCopier<V>(at.q, at.q_stride)
        .template copy<V::kRows, true>(copies, q_tile, first_row, at.rows);
    load_first(k, k_slot(V::kOverlap ? kStages - 1 : 0));
    if (!V::kOverlap && kStages > 1) load_first(v, v_slot(0));
    copies.end_group();
  }
  if (tiles.count == 0) {
    // Nothing to see.
  } else if constexpr (kStages == 1) {
    if constexpr (V::kQInRegisters) {
      copies.template wait<0>();
      __syncthreads();
      rows.load_q();
    }
    for (int tile = 0; tile < tiles.count; ++tile) {
      copies.template wait<0>();
      __syncthreads();  // K is there, V's place is free
      if (tile == 0) {
        load_first(v, v_tiles);
      } else {
        load(v, tile, v_tiles);
      }
      copies.end_group();
      const bool is_seen = sees(tile);
      if (is_seen) rows.multiply_q(scores, k_tiles, nothing);
      copies.template wait<0>();
      __syncthreads();  // V is there, K's place is free
      load(k, tile + 1, k_tiles);
      copies.end_group();
      if (!is_seen) continue;
      softmax(tile);
      rows.multiply_v(probabilities, v_tiles);
    }
  } else if constexpr (!V::kOverlap) {
#pragma unroll
    for (int tile = 1; tile < kStages - 1; ++tile) {
      load(k, tile, k_slot(tile));
      load(v, tile, v_slot(tile));
      copies.end_group();
    }
    if constexpr (V::kQInRegisters) {
      copies.template wait<kStages - 2>();
      __syncthreads();
      rows.load_q();
    }
    int slot = 0;
    for (int tile = 0; tile < tiles.count; ++tile) {
      copies.template wait<kStages - 2>();
      __syncthreads();  // this tile is there, and the place of the one before is free
      const int free_slot = slot == 0 ? kStages - 1 : slot - 1;
      load(k, tile + kStages - 1, k_slot(free_slot));
      load(v, tile + kStages - 1, v_slot(free_slot));
      copies.end_group();
      if (sees(tile)) {
        rows.multiply_q(scores, k_slot(slot), nothing);
        softmax(tile);
        rows.multiply_v(probabilities, v_slot(slot));
      }
      slot = slot == kStages - 1 ? 0 : slot + 1;
    }
  } else {
    // A slot holds V of a tile and K of the next one.
    load(k, 1, k_slot(0));
    load_first(v, v_slot(0));
    copies.end_group();
#pragma unroll
    for (int tile = 1; tile < kStages - 1; ++tile) {
      load(k, tile + 1, k_slot(tile));
      load(v, tile, v_slot(tile));
      copies.end_group();
    }
    copies.template wait<kStages - 1>();
    __syncthreads();
    rows.load_q();
    rows.multiply_q(scores, k_slot(kStages - 1), nothing);
    int slot = 0;
    for (int tile = 0; tile < tiles.count - 1; ++tile) {
      copies.template wait<kStages - 2>();
      __syncthreads();
      const int free_slot = slot == 0 ? kStages - 1 : slot - 1;
      load(k, tile + kStages, k_slot(free_slot));
      load(v, tile + kStages - 1, v_slot(free_slot));
      copies.end_group();
      cap_and_mask(tile);
      rows.follow_maximum(scores);
      typename mg::AttentionRows<V>::Scores next;
      constexpr int kProducts = V::kHeadDim / 16, kExponents = V::kKeys / 16;
      rows.multiply_q(next, k_slot(slot), [&](int step) {
#pragma unroll
        for (int e = step * kExponents / kProducts; e < (step + 1) * kExponents / kProducts; ++e) {
          rows.exponentiate(scores, e, probabilities);
        }
      });
      rows.multiply_v(probabilities, v_slot(slot));
      scores = next;
      slot = slot == kStages - 1 ? 0 : slot + 1;
    }
    copies.template wait<0>();
    __syncthreads();
    softmax(tiles.count - 1);
    rows.multiply_v(probabilities, v_slot(slot));
  }
  write(rows, at, row0, q_rows);
}

// Which rows of which head (times batch) a block has: in groups of HEADS_AT_ONCE heads, the blocks
// with the last rows, which see the most keys where causal, first.
struct Place {
  int head, first_row;
};

template <int BLOCK_M, int HEADS_AT_ONCE>
__device__ __forceinline__ Place place_of_block(int rows, int heads) {
  const int row_blocks = (rows + BLOCK_M - 1) / BLOCK_M;
  const int block = static_cast<int>(blockIdx.x);
  const int first_head = block / (row_blocks * HEADS_AT_ONCE) * HEADS_AT_ONCE;
  const int group = least(HEADS_AT_ONCE, heads - first_head);
  const int place = block - first_head * row_blocks;
  return {first_head + place % group, (row_blocks - 1 - place / group) * BLOCK_M};
}

template <class T, int HEAD_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES, bool Q_IN_REGS,
          bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, int BLOCKS_PER_SM, int HEADS_AT_ONCE,
          bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_prefill(const T* q, const T* k, const T* v, T* o, float* lse, float scale,
                      float softcap, int batch, int seq_q, int seq_k, int heads, int kv_heads,
                      int window, mg::i64 q_sb, mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb,
                      mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh,
                      mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
  using V = Variant<T, HEAD_DIM, BLOCK_M, BLOCK_N, WARPS, STAGES, Q_IN_REGS, OVERLAP, SUM, SCALING,
                    CAUSAL, WINDOWED, CAPPED, LSE>;
  const Place place = place_of_block<BLOCK_M, HEADS_AT_ONCE>(seq_q, batch * heads);
  const int b = place.head / heads, head = place.head % heads;
  const int kv_head = head / (heads / kv_heads);
  attend<V>(
      {q + b * q_sb + head * q_sh, k + b * k_sb + kv_head * k_sh, v + b * v_sb + kv_head * v_sh,
       o + b * o_sb + head * o_sh, LSE ? lse + mg::i64{place.head} * seq_q : nullptr, q_ss, k_ss,
       v_ss, o_ss, seq_q, seq_k},
      place.first_row, {scale, softcap, window});
}

// Sequence s has rows [q_starts[s], q_starts[s + 1]) of q and o, and likewise of k and v. The grid
// is one for sequences of max_q rows each: blocks beyond the end of theirs have nothing to do.
template <class T, int HEAD_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES, bool Q_IN_REGS,
          bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, int BLOCKS_PER_SM, int HEADS_AT_ONCE,
          bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_varlen(const T* q, const T* k, const T* v, const int* q_starts, const int* k_starts,
                     T* o, float* lse, float scale, float softcap, int sequences, int tokens_q,
                     int max_q, int heads, int kv_heads, int window, mg::i64 q_ss, mg::i64 q_sh,
                     mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_ss, mg::i64 v_sh, mg::i64 o_ss,
                     mg::i64 o_sh) {
  using V = Variant<T, HEAD_DIM, BLOCK_M, BLOCK_N, WARPS, STAGES, Q_IN_REGS, OVERLAP, SUM, SCALING,
                    CAUSAL, WINDOWED, CAPPED, LSE>;
  const Place place = place_of_block<BLOCK_M, HEADS_AT_ONCE>(max_q, sequences * heads);
  const int s = place.head / heads, head = place.head % heads;
  const int kv_head = head / (heads / kv_heads);
  const int q_start = q_starts[s], k_start = k_starts[s];
  const int rows = q_starts[s + 1] - q_start, keys = k_starts[s + 1] - k_start;
  if (place.first_row >= rows) return;
  attend<V>({q + q_start * q_ss + head * q_sh, k + k_start * k_ss + kv_head * k_sh,
             v + k_start * v_ss + kv_head * v_sh, o + q_start * o_ss + head * o_sh,
             LSE ? lse + mg::i64{head} * tokens_q + q_start : nullptr, q_ss, k_ss, v_ss, o_ss, rows,
             keys},
            place.first_row, {scale, softcap, window});
}
