// attention.prefill  o[b, i, h] = sum over visible j of softmax(logit[j]) * v[b, j, h / group]
//                    logit[j] = scale * dot(q[b, i, h], k[b, j, h / group])
//                    lse[b, h, i] = log(sum over visible j of exp(logit[j]))
// attention.varlen   the same for each sequence of a batch that is packed without padding
//
//   causal     Query i sees key j if j <= i + keys - queries. So the last query sees every key.
//   windowed   Query i does not see keys that are further than `window` from i + keys - queries.
//   capped     Each logit becomes softcap * tanh(logit / softcap) first.
// A query that sees no key gives o = 0 and lse = -inf. scale is positive.
//
// The plain version: one block computes one query of one head.
//
//   __global__ void attention(const T* q, const T* k, const T* v, T* o, int keys, float scale) {
//     __shared__ float p[keys];
//     int i = blockIdx.x;
//     for (int j = threadIdx.x; j < keys; j += blockDim.x) p[j] = scale * dot(q[i], k[j]);
//     __syncthreads();
//     float maximum = block_max(p, keys);
//     for (int j = threadIdx.x; j < keys; j += blockDim.x) p[j] = expf(p[j] - maximum);
//     __syncthreads();
//     float sum = block_sum(p, keys);
//     for (int d = threadIdx.x; d < head_dim; d += blockDim.x) {
//       float out = 0;
//       for (int j = 0; j < keys; j++) out += p[j] * v[j][d];
//       o[i][d] = out / sum;
//     }
//   }
//
// It is slow: every query reads all of K and V again, the tensor cores do nothing, and a row of p
// must fit into shared memory.
//
// Algorithm  FlashAttention-2 (Dao, 2023) on mma.sync. A block owns BLOCK_M queries of one head and
//            walks over their keys in tiles of BLOCK_N, from the last tile to the first. So K and V
//            are read once for BLOCK_M queries.
//            cp.async brings the next tiles of K and V into shared memory while this tile is
//            computed.
//            The softmax is computed on the way: a row keeps its maximum and its sum so far, and O
//            is rescaled if the maximum rises. So no row of p is ever stored.
//            A warp owns 16 to 64 whole rows. S = Q K^T, the softmax and O += P V stay in its
//            registers. The registers of S already have the layout that P needs as an operand. The
//            maximum and the sum of a row take two shuffles each, among four lanes.
//            scale and log2(e) are one factor. An exponential is then one fused multiply-add and
//            one ex2.
//            A warp does not mask a tile that all its rows see completely. A tile that no row of
//            the block sees is not loaded, and a warp skips tiles that none of its rows sees. The
//            blocks with the most keys start first, which evens out the end of the grid.
// Traffic    It reads q once, and k and v once per BLOCK_M queries of each head of a group. L2
//            serves the repeated reads, because the blocks of a head run side by side. It writes o.
//            At least 2 * (head_dim + value_dim) * (queries * heads + keys * kv_heads) bytes must
//            move, which takes 4 % of the time at 4096 tokens.
// Work       2 * queries * keys * (head_dim + value_dim) flops per head, half of it if causal. The
//            kernel is bound by the tensor cores: mma.sync does 2490 flops per SM and clock, which
//            is 652 TFLOP/s on an H200 at 1980 MHz and 72 % of its wgmma.
//            Other work of a tile, as a share of the time of its products:
//              exponentials (16 per SM and clock): 0.62 at head_dim 64, 0.31 at 128, 0.16 at 256
//              shared memory (128 bytes per clock) for K, V, Q and the copies: 1.3 with 16 rows per
//              warp, 0.9 with 32, 0.7 with 48, and 0.15 less if Q is in registers
//            Several blocks on an SM hide some of each other's softmax, but not all of it:
//            FlashAttention-2 gets 51 % of the 652 TFLOP/s.
//            Expected on an H200: full attention 330 to 400 TFLOP/s at head_dim 128, 300 to 360 at
//            64, 290 to 340 at 256. Causal is 5 to 10 % less at 4096 tokens and 20 % less at 1024.
// Tunables   BLOCK_M     The queries of a block. More queries need less traffic from L2 and fewer
//                        copies per product, but make fewer blocks.
//            BLOCK_N     The keys of a tile. More keys need fewer barriers and rescalings, but more
//                        registers for S.
//            WARPS       A warp has BLOCK_M / WARPS rows, 16 to 64. More rows share one read of K
//                        and V from shared memory, but each needs registers.
//            STAGES      The tiles of K and V in shared memory. With 1, the next tile of K arrives
//                        during the softmax and that of V during Q K^T, for two barriers per tile.
//                        With more, one barrier per tile is enough.
//            Q_IN_REGS   Q stays in registers instead of being read for every tile.
//            OVERLAP     Q K^T of the next tile is computed among the exponentials of this one.
//            ROW_SUM     alu adds the rounded P. mma multiplies P by a column of ones beside V.
//            RESCALE     always: O is rescaled for each new maximum. seldom: O is rescaled only
//                        when exponentials would otherwise exceed 2^8.
//            BLOCKS_PER_SM   The blocks that the compiler leaves registers for.
//            HEADS_AT_ONCE   The heads (times batch) whose longest blocks start together.
// Numerics   Products are exact. Sums, softmax and O are fp32. P is rounded to T, and row sums add
//            the rounded P, so that V of ones gives exactly 1. For lse a second sum adds P before
//            rounding. o is rounded once. With RESCALE seldom P grows up to 2^8. The parameters fix
//            the order of all sums.

#include <mg/attention_rows.cuh>
#include <mg/cache_hint.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>

#include "prefill_tiles.cuh"

// The work of one block: rows [first_row, first_row + BLOCK_M) of a sequence.
template <class V>
__device__ __forceinline__ void attend(const Sequence<typename V::T>& at, int first_row,
                                       const Scaling& scaling) {
  using T = typename V::T;
  constexpr int kStages = V::kStages;
  constexpr int kTileOfK = V::kKeys * V::kHeadDim, kTileOfV = V::kKeys * V::kValueDim;
  T* const q_tile = mg::dynamic_shared<T>();
  T* const k_tiles = q_tile + V::kRows * V::kHeadDim;
  T* const v_tiles = k_tiles + kStages * kTileOfK;

  const Tiles<V> tiles(at.rows, at.keys, first_row, scaling.window);
  typename V::Copies copies;
  const TileCopier<V, V::kHeadDim> k(at.k, at.k_stride);
  const TileCopier<V, V::kValueDim> v(at.v, at.v_stride);
  // Only tile 0 can have rows past the end. Tiles that do not exist are ignored.
  const auto load_first_k = [&](T* to) {
    k.template copy<V::kKeys, true>(copies, to, tiles.key(0), at.keys);
  };
  const auto load_first_v = [&](T* to) {
    v.template copy<V::kKeys, true>(copies, to, tiles.key(0), at.keys);
  };
  const auto load_k = [&](int tile, T* to) {
    if (tile < tiles.count) k.template copy<V::kKeys, false>(copies, to, tiles.key(tile), at.keys);
  };
  const auto load_v = [&](int tile, T* to) {
    if (tile < tiles.count) v.template copy<V::kKeys, false>(copies, to, tiles.key(tile), at.keys);
  };
  const auto k_slot = [&](int slot) { return k_tiles + slot * kTileOfK; };
  const auto v_slot = [&](int slot) { return v_tiles + slot * kTileOfV; };

  const int own_rows = static_cast<int>(threadIdx.x) / 32 * V::kWarpRows;
  T* const q_rows = q_tile + own_rows * V::kHeadDim;
  mg::AttentionRows<V> rows(scaling, q_rows);
  const int row0 = first_row + own_rows;
  // The keys at the positions of the warp's first and last row. They tell which tiles all of its
  // rows see, and which tiles none of them sees.
  const int first_own = row0 + tiles.diagonal;
  const int last_own = minimum(row0 + V::kWarpRows, at.rows) - 1 + tiles.diagonal;
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
    TileCopier<V, V::kHeadDim>(at.q, at.q_stride)
        .template copy<V::kRows, true>(copies, q_tile, first_row, at.rows);
    load_first_k(k_slot(V::kOverlap ? kStages - 1 : 0));
    if (!V::kOverlap && kStages > 1) load_first_v(v_slot(0));
    copies.end_group();
  }
  if (tiles.count == 0) {
    // No row of the block sees a key.
  } else if constexpr (kStages == 1) {
    if constexpr (V::kQInRegisters) {
      copies.template wait<0>();
      __syncthreads();
      rows.load_q();
    }
    for (int tile = 0; tile < tiles.count; ++tile) {
      copies.template wait<0>();
      __syncthreads();  // K has arrived, and the place of V is free.
      if (tile == 0) {
        load_first_v(v_tiles);
      } else {
        load_v(tile, v_tiles);
      }
      copies.end_group();
      const bool is_seen = sees(tile);
      if (is_seen) rows.multiply_q(scores, k_tiles, nothing);
      copies.template wait<0>();
      __syncthreads();  // V has arrived, and the place of K is free.
      load_k(tile + 1, k_tiles);
      copies.end_group();
      if (!is_seen) continue;
      softmax(tile);
      rows.multiply_v(probabilities, v_tiles);
    }
  } else if constexpr (!V::kOverlap) {
#pragma unroll
    for (int tile = 1; tile < kStages - 1; ++tile) {
      load_k(tile, k_slot(tile));
      load_v(tile, v_slot(tile));
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
      __syncthreads();  // This tile has arrived, and the place of the previous one is free.
      const int free_slot = slot == 0 ? kStages - 1 : slot - 1;
      load_k(tile + kStages - 1, k_slot(free_slot));
      load_v(tile + kStages - 1, v_slot(free_slot));
      copies.end_group();
      if (sees(tile)) {
        rows.multiply_q(scores, k_slot(slot), nothing);
        softmax(tile);
        rows.multiply_v(probabilities, v_slot(slot));
      }
      slot = slot == kStages - 1 ? 0 : slot + 1;
    }
  } else {
    // A slot holds V of one tile and K of the next tile.
    load_k(1, k_slot(0));
    load_first_v(v_slot(0));
    copies.end_group();
#pragma unroll
    for (int tile = 1; tile < kStages - 1; ++tile) {
      load_k(tile + 1, k_slot(tile));
      load_v(tile, v_slot(tile));
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
      load_k(tile + kStages, k_slot(free_slot));
      load_v(tile + kStages - 1, v_slot(free_slot));
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

template <class T, int HEAD_DIM, int VALUE_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES,
          bool Q_IN_REGS, bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, int BLOCKS_PER_SM,
          int HEADS_AT_ONCE, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_prefill(const T* q, const T* k, const T* v, T* o, float* lse, float scale,
                      float softcap, int batch, int seq_q, int seq_k, int heads, int kv_heads,
                      int window, mg::i64 q_sb, mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb,
                      mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh,
                      mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
  using V = Variant<T, HEAD_DIM, VALUE_DIM, BLOCK_M, BLOCK_N, WARPS, STAGES, Q_IN_REGS, OVERLAP,
                    SUM, SCALING, CAUSAL, WINDOWED, CAPPED, LSE>;
  const Place place =
      place_of_block<HEADS_AT_ONCE>(static_cast<int>(blockIdx.x), seq_q, batch * heads, BLOCK_M);
  const int b = place.head / heads, head = place.head % heads;
  const int kv_head = head / (heads / kv_heads);
  attend<V>(
      {q + b * q_sb + head * q_sh, k + b * k_sb + kv_head * k_sh, v + b * v_sb + kv_head * v_sh,
       o + b * o_sb + head * o_sh, LSE ? lse + mg::i64{place.head} * seq_q : nullptr, q_ss, k_ss,
       v_ss, o_ss, seq_q, seq_k},
      place.first_row, {scale, softcap, window});
}

// Sequence s has rows [q_starts[s], q_starts[s + 1]) of q and o, and rows [k_starts[s],
// k_starts[s + 1]) of k and v. The grid has room for max_q rows per sequence. Blocks past the end
// of their sequence return at once. If a sequence is longer than max_q, its blocks take further
// rows: in each turn of the loop they move on by the rows of the grid.
template <class T, int HEAD_DIM, int VALUE_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES,
          bool Q_IN_REGS, bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, int BLOCKS_PER_SM,
          int HEADS_AT_ONCE, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_varlen(const T* q, const T* k, const T* v, const int* q_starts, const int* k_starts,
                     T* o, float* lse, float scale, float softcap, int sequences, int tokens_q,
                     int max_q, int heads, int kv_heads, int window, mg::i64 q_ss, mg::i64 q_sh,
                     mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_ss, mg::i64 v_sh, mg::i64 o_ss,
                     mg::i64 o_sh) {
  using V = Variant<T, HEAD_DIM, VALUE_DIM, BLOCK_M, BLOCK_N, WARPS, STAGES, Q_IN_REGS, OVERLAP,
                    SUM, SCALING, CAUSAL, WINDOWED, CAPPED, LSE>;
  for (int passed = 0;; passed += (max_q + BLOCK_M - 1) / BLOCK_M * BLOCK_M) {
    // A second turn is rare, so nothing is kept in registers for it.
    const int block = mg::compute_each_time(static_cast<int>(blockIdx.x));
    const Place place = place_of_block<HEADS_AT_ONCE>(block, max_q, sequences * heads, BLOCK_M);
    const int s = place.head / heads, head = place.head % heads;
    const int kv_head = head / (heads / kv_heads);
    const int q_start = q_starts[s], k_start = k_starts[s];
    const int rows = q_starts[s + 1] - q_start, keys = k_starts[s + 1] - k_start;
    const int first_row = place.first_row + passed;
    if (first_row >= rows) return;
    attend<V>({q + q_start * q_ss + head * q_sh, k + k_start * k_ss + kv_head * k_sh,
               v + k_start * v_ss + kv_head * v_sh, o + q_start * o_ss + head * o_sh,
               LSE ? lse + mg::i64{head} * tokens_q + q_start : nullptr, q_ss, k_ss, v_ss, o_ss,
               rows, keys},
              first_row, {scale, softcap, window});
    __syncthreads();  // All threads are done with the shared memory.
  }
}
