// attention.backward  the gradients dq, dk and dv of a loss whose gradient for o is dout, where
//   o = softmax(scale * q k^T) v is the output of attention.prefill and lse is its log-sum-exp
//
//   P[i, j]  = exp(scale * dot(q[i], k[j]) - lse[i])      0 if query i does not see key j
//   dP[i, j] = dot(dout[i], v[j])
//   delta[i] = dot(dout[i], o[i])                         = sum over j of P[i, j] * dP[i, j]
//   dS[i, j] = P[i, j] * (dP[i, j] - delta[i])
//   dq[i] = scale * sum over j of dS[i, j] * k[j]
//   dk[j] = scale * sum over i of dS[i, j] * q[i]         sums of all heads that share the keys
//   dv[j] = sum over i of P[i, j] * dout[i]
//
//   causal  Query i sees key j if j <= i + keys - queries, as in prefill.
// A query that sees no key has lse = -inf. It gives dq = 0 and adds nothing to dk and dv.
//
// The plain version: one block computes one query of one head, and adds to dk and dv.
//
//   __global__ void backward(const T* q, const T* k, const T* v, const T* o, const T* dout,
//                            const float* lse, float* dq, float* dk, float* dv, int keys) {
//     int i = blockIdx.x;
//     float delta = dot(dout[i], o[i]);
//     for (int j = threadIdx.x; j < keys; j += blockDim.x) {
//       float p = expf(scale * dot(q[i], k[j]) - lse[i]);
//       float ds = p * (dot(dout[i], v[j]) - delta);
//       for (int d = 0; d < head_dim; d++) {
//         atomicAdd(&dq[i][d], scale * ds * k[j][d]);
//         atomicAdd(&dk[j][d], scale * ds * q[i][d]);
//         atomicAdd(&dv[j][d], p * dout[i][d]);
//       }
//     }
//   }
//
// It is slow: the tensor cores do nothing, and each pair adds 3 * head_dim numbers by atomics. The
// order of these sums also changes from run to run.
//
// Algorithm  FlashAttention-2 (Dao, 2023) on mma.sync, in two passes over P, so that every sum has
//            one owner. No atomics are needed, and equal inputs give equal bits.
//            1. attention_backward_rows computes delta, and lse in units of log2. Both go to the
//               workspace. Rows up to the next multiple of 128, and rows that see no key, get +inf
//               for lse, so that their P is 0 without a mask.
//            2. attention_backward_dkv: a block owns DKV_KEYS keys of one KV head. It walks over
//               the heads that share these keys and over the tiles of DKV_QUERIES queries that see
//               any of them. It computes P^T and dS^T, and adds P^T dout to dv and dS^T q to dk.
//            3. attention_backward_dq: a block owns DQ_QUERIES queries of one head. It walks over
//               the tiles of DQ_KEYS keys that any of them sees, and adds dS k to dq.
//            In passes 2 and 3 a warp owns 16 or 32 whole rows: keys in pass 2, queries in pass 3.
//            These are the rows of S and dP. So the accumulators of S and dP already have the
//            layout that P and dS need as left operands of the next products, and P and dS never go
//            through shared memory. The sums stay in registers until the end.
//            cp.async copies the next tiles while this one is computed. A warp skips a tile that
//            none of its rows sees, and does not mask a tile that every row sees. The blocks with
//            the most tiles start first.
// Traffic    Pass 1 reads o and dout. Pass 2 reads k and v once, and q and dout once per DKV_KEYS
//            keys. Pass 3 reads q and dout once, and k and v once per DQ_QUERIES queries and head.
//            L2 serves the repeated reads. The gradients are written once.
//            At least 2 * head_dim * (4 * queries * heads + 4 * keys * kv_heads) bytes must move,
//            which takes 3 % of the time at 4096 tokens.
// Work       The gradients need 5 products of 2 * queries * keys * head_dim flops per head: S, dP,
//            dq, dk, dv. This is 2.5 times the work of the forward pass, and the number that
//            `flops` counts (half of it if causal). The two passes execute 7 products, because S
//            and dP are computed twice. So at most 5 / 7 of the rate of mma.sync counts: 466 of 652
//            TFLOP/s on an H200. A single pass would execute 5 products, but it would have to add
//            up dq over all blocks of keys in fp32: either by atomics, which are not deterministic,
//            or block after block, which makes blocks wait.
//            Other work as a share of the time of a pass's products:
//              exponentials: one per 4 products in pass 2 and one per 3 in pass 3, so 0.31 and 0.41
//              at head_dim 64, and half of that at 128
//              shared memory (128 bytes per clock): 1.4 with 16 rows per warp, 0.9 with 32. At
//              head_dim 128 the sums of dk and dv leave registers for 16 rows only.
//            Prefill gets 57 % of the 652 TFLOP/s with 32 rows per warp. For head_dim 128 we
//            expected 45 % in pass 2 and 55 % in pass 3, so 49 % in all. With the factor 5 / 7 this
//            is 230 TFLOP/s, or 61 % of the forward's rate. At head_dim 64 both passes have 32 rows
//            per warp, so we expected 230 TFLOP/s, too. Measured on an H200: 253 and 263
//            (results/h200/attention.md).
// Tunables   DKV_KEYS, DQ_QUERIES   The rows of a block. More rows need less traffic from L2 and
//                        fewer copies per product, but make fewer blocks.
//            DKV_QUERIES, DQ_KEYS   The rows of a tile. With more rows there are fewer barriers,
//                        and the block reads its own rows less often. But S and dP need more
//                        registers per thread: one per row of the tile, for 16 own rows of a warp.
//            DKV_WARPS, DQ_WARPS    The warps of a block. A warp has 16 or 32 own rows. With 32,
//                        more rows share one read of a tile.
//            DKV_STAGES, DQ_STAGES  The slots for tiles. With 1, a block waits for each tile, and
//                        other blocks of the SM compute meanwhile.
//            DKV_IN_REGS, DQ_IN_REGS   The own rows stay in registers instead of being read for
//                        every tile.
//            HEADS_AT_ONCE   The heads (times batch) whose longest blocks start together.
// Numerics   Products are exact. Sums, exponentials and dS are fp32. P and dS are rounded to T
//            before they are multiplied. delta is computed from the rounded o. Gradients are
//            rounded once. lse must belong to the same q, k, scale and mask. The parameters fix the
//            order of all sums.

#include <mg/types.cuh>

#include "backward_figures.cuh"
#include "backward_rows.cuh"
#include "backward_tiles.cuh"
#include "prefill_tiles.cuh"

// Pass 2.
template <class T, int HEAD_DIM, int KEYS, int QUERIES, int WARPS, int STAGES, bool IN_REGS,
          int HEADS_AT_ONCE, bool CAUSAL>
__global__ void __launch_bounds__(32 * WARPS)
    attention_backward_dkv(const T* q, const T* k, const T* v, const T* dout, const float* lse2,
                           const float* delta, T* dk, T* dv, float scale, int batch, int seq_q,
                           int seq_k, int padded_q, int heads, int kv_heads, mg::i64 q_sb,
                           mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb, mg::i64 k_ss, mg::i64 k_sh,
                           mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh, mg::i64 dout_sb,
                           mg::i64 dout_ss, mg::i64 dout_sh, mg::i64 dk_sb, mg::i64 dk_ss,
                           mg::i64 dk_sh, mg::i64 dv_sb, mg::i64 dv_ss, mg::i64 dv_sh) {
  using V = Pass<T, HEAD_DIM, KEYS, QUERIES, WARPS, STAGES, IN_REGS, CAUSAL>;
  const SharedTiles<V> shared;
  const Place place =
      place_of_block<HEADS_AT_ONCE>(static_cast<int>(blockIdx.x), seq_k, batch * kv_heads, KEYS);
  const mg::i64 b = place.head / kv_heads, kv_head = place.head % kv_heads;
  // The first keys are seen by the most queries, so their blocks come first.
  const int first_key = (seq_k - 1) / KEYS * KEYS - place.first_row;
  const int diagonal = seq_k - seq_q, group = heads / kv_heads;
  const int first_query = CAUSAL ? maximum(0, first_key - diagonal) / QUERIES * QUERIES : 0;
  const int tiles = maximum(0, (seq_q - first_query + QUERIES - 1) / QUERIES);

  const int row0 =
      first_key + static_cast<int>(threadIdx.x) / 32 * V::kWarpRows;  // the warp's first key
  OwnRows<V> keys(shared.own_of_warp(0)), values(shared.own_of_warp(1));
  Sums<V> dk_sums, dv_sums;
  typename V::Copies copies;

  // The next tile to load, and the next one to use. The tiles of one head follow those of another.
  struct Cursor {
    mg::i64 head;
    int query;
  };
  Cursor loaded{kv_head * group, first_query}, used = loaded;
  const auto advance = [&](Cursor& cursor) {
    cursor.query += QUERIES;
    if (cursor.query >= seq_q) cursor = {cursor.head + 1, first_query};
  };
  const auto load = [&](int slot) {
    const auto [head, query] = loaded;
    TileCopier<V>(q + b * q_sb + head * q_sh, q_ss)
        .template copy<QUERIES, true>(copies, shared.tile(slot, 0), query, seq_q);
    TileCopier<V>(dout + b * dout_sb + head * dout_sh, dout_ss)
        .template copy<QUERIES, true>(copies, shared.tile(slot, 1), query, seq_q);
    constexpr int kPieces = QUERIES / 4;  // of a tile's figures, 16 bytes each
    const int piece = static_cast<int>(threadIdx.x);
    if (piece < 2 * kPieces) {
      const int which = piece / kPieces, first = piece % kPieces * 4;
      copies.template copy<16>(
          shared.figures(slot, which) + first,
          (which == 0 ? lse2 : delta) + (b * heads + head) * padded_q + query + first);
    }
    advance(loaded);
  };
  const auto begin = [&] {
    keys.load();
    values.load();
  };
  const auto compute = [&](int slot) {
    const int query = used.query;
    advance(used);
    if (row0 >= seq_k || (CAUSAL && row0 > query + QUERIES - 1 + diagonal)) return;
    Products<V> p, ds;
    multiply<V>(keys, shared.tile(slot, 0), p);
    if (CAUSAL && row0 + V::kWarpRows - 1 > query + diagonal) {
      mask<V>(p, [&](int row, int column) { return row0 + row > query + column + diagonal; });
    }
    exponentiate<V>(p, scale * mg::kLog2E, FiguresOfColumns(shared.figures(slot, 0)));
    add_products<V>(rounded<V>(p), shared.tile(slot, 1), dv_sums);
    multiply<V>(values, shared.tile(slot, 1), ds);
    differentiate<V>(p, ds, FiguresOfColumns(shared.figures(slot, 1)));
    add_products<V>(rounded<V>(ds), shared.tile(slot, 0), dk_sums);
  };

  if (tiles > 0) {
    TileCopier<V>(k + b * k_sb + kv_head * k_sh, k_ss)
        .template copy<KEYS, true>(copies, shared.own(0), first_key, seq_k);
    TileCopier<V>(v + b * v_sb + kv_head * v_sh, v_ss)
        .template copy<KEYS, true>(copies, shared.own(1), first_key, seq_k);
    pass_tiles<V>(copies, tiles * group, load, begin, compute);
  }
  write_gradient<V>(dk_sums, scale, dk + b * dk_sb + kv_head * dk_sh, dk_ss, row0, seq_k,
                    shared.own_of_warp(0));
  write_gradient<V>(dv_sums, 1.0f, dv + b * dv_sb + kv_head * dv_sh, dv_ss, row0, seq_k,
                    shared.own_of_warp(1));
}

// Pass 3.
template <class T, int HEAD_DIM, int QUERIES, int KEYS, int WARPS, int STAGES, bool IN_REGS,
          int HEADS_AT_ONCE, bool CAUSAL>
__global__ void __launch_bounds__(32 * WARPS)
    attention_backward_dq(const T* q, const T* k, const T* v, const T* dout, const float* lse2,
                          const float* delta, T* dq, float scale, int batch, int seq_q, int seq_k,
                          int padded_q, int heads, int kv_heads, mg::i64 q_sb, mg::i64 q_ss,
                          mg::i64 q_sh, mg::i64 k_sb, mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_sb,
                          mg::i64 v_ss, mg::i64 v_sh, mg::i64 dout_sb, mg::i64 dout_ss,
                          mg::i64 dout_sh, mg::i64 dq_sb, mg::i64 dq_ss, mg::i64 dq_sh) {
  using V = Pass<T, HEAD_DIM, QUERIES, KEYS, WARPS, STAGES, IN_REGS, CAUSAL>;
  const SharedTiles<V> shared;
  const Place place =
      place_of_block<HEADS_AT_ONCE>(static_cast<int>(blockIdx.x), seq_q, batch * heads, QUERIES);
  const mg::i64 b = place.head / heads, head = place.head % heads;
  const mg::i64 kv_head = head / (heads / kv_heads);
  const int diagonal = seq_k - seq_q;
  const int last_query = minimum(place.first_row + QUERIES, seq_q) - 1;
  const int end = CAUSAL ? minimum(seq_k, last_query + diagonal + 1) : seq_k;
  const int tiles = end <= 0 ? 0 : (end + KEYS - 1) / KEYS;

  const int row0 = place.first_row + static_cast<int>(threadIdx.x) / 32 * V::kWarpRows;
  const int last_own = minimum(row0 + V::kWarpRows, seq_q) - 1 + diagonal;  // the last row's key
  const mg::i64 figures = mg::i64{place.head} * padded_q + row0;
  const FiguresOfRows<V> logarithms(lse2 + figures), deltas(delta + figures);
  OwnRows<V> queries(shared.own_of_warp(0)), gradients(shared.own_of_warp(1));
  Sums<V> sums;
  typename V::Copies copies;

  const TileCopier<V> of_keys(k + b * k_sb + kv_head * k_sh, k_ss);
  const TileCopier<V> of_values(v + b * v_sb + kv_head * v_sh, v_ss);
  int loaded = 0, used = 0;  // the first keys of the next tile to load, and to use
  const auto load = [&](int slot) {
    of_keys.template copy<KEYS, true>(copies, shared.tile(slot, 0), loaded, seq_k);
    of_values.template copy<KEYS, true>(copies, shared.tile(slot, 1), loaded, seq_k);
    loaded += KEYS;
  };
  const auto begin = [&] {
    queries.load();
    gradients.load();
  };
  const auto compute = [&](int slot) {
    const int key = used;
    used += KEYS;
    if (row0 >= seq_q || (CAUSAL && key > last_own)) return;
    Products<V> p, ds;
    multiply<V>(queries, shared.tile(slot, 0), p);
    const int last_key = key + KEYS - 1;
    if (last_key >= seq_k || (CAUSAL && last_key > row0 + diagonal)) {
      mask<V>(p, [&](int row, int column) {
        return key + column >= seq_k || (CAUSAL && key + column > row0 + row + diagonal);
      });
    }
    exponentiate<V>(p, scale * mg::kLog2E, logarithms);
    multiply<V>(gradients, shared.tile(slot, 1), ds);
    differentiate<V>(p, ds, deltas);
    add_products<V>(rounded<V>(ds), shared.tile(slot, 0), sums);
  };

  if (tiles > 0) {
    TileCopier<V>(q + b * q_sb + head * q_sh, q_ss)
        .template copy<QUERIES, true>(copies, shared.own(0), place.first_row, seq_q);
    TileCopier<V>(dout + b * dout_sb + head * dout_sh, dout_ss)
        .template copy<QUERIES, true>(copies, shared.own(1), place.first_row, seq_q);
    pass_tiles<V>(copies, tiles, load, begin, compute);
  }
  write_gradient<V>(sums, scale, dq + b * dq_sb + head * dq_sh, dq_ss, row0, seq_q,
                    shared.own_of_warp(0));
}
