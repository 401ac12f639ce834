// attention.decode  o[b, i, h] = sum over visible j of softmax(logit[j]) * v[b, j, h / group]
//                   logit[j] = scale * dot(q[b, i, h], k[b, j, h / group])
//                   lse[b, h, i] = log(sum over visible j of exp(logit[j]))
//
// This is the design `even`: it shares out the keys of the whole batch evenly. decode.cu describes
// the masks, and has the designs that cut each sequence by itself.
//
// The plain version: one warp computes one query of one head.
//
//   __global__ void decode(const T* q, const T* k, const T* v, T* o, int* keys, float scale) {
//     int b = blockIdx.x / heads, h = blockIdx.x % heads;
//     float maximum = -INFINITY, sum = 0, out[head_dim] = {0};
//     for (int j = 0; j < keys[b]; j++) {
//       float logit = scale * warp_dot(q[b][h], k[b][j][h / group]);
//       float higher = fmaxf(maximum, logit), shrink = expf(maximum - higher);
//       float p = expf(logit - higher);
//       for (int d = 0; d < head_dim; d++) out[d] = out[d] * shrink + p * v[b][j][h / group][d];
//       sum = sum * shrink + p;
//       maximum = higher;
//     }
//     for (int d = 0; d < head_dim; d++) o[b][h][d] = out[d] / sum;
//   }
//
// It takes as long as the longest sequence. With 17 sequences and 8 KV heads, even equal sequences
// are 136 blocks, and 132 SMs work on them for two rounds.
//
// Algorithm  The grid has BLOCKS_PER_SM blocks per SM, whatever the problem is. All tiles of
//            BLOCK_N keys of all sequences and heads form lists, and each block has an equal run of
//            a list. A run may begin and end inside a sequence, and may cover several sequences.
//            The blocks form `columns`, and each column has its own list, with its share of the KV
//            heads. The number of columns is the greatest common divisor of the number of blocks
//            and the number of KV heads (times their blocks of ROWS rows). All lists are cut at the
//            same places, so the blocks of neighbouring columns read neighbouring rows of the cache
//            at the same time.
//            Each block reads the lengths of all sequences and counts their tiles: each lane of a
//            warp counts a 32nd of the batch. So a block finds its run without help from other
//            blocks.
//            The warps of a block take the tiles of its run in turn. Each warp copies its own tiles
//            by cp.async, STAGES ahead, also past the end of a sequence. A warp keeps Q, the
//            softmax and its own O of all rows in registers.
//            At the end of a sequence the warps add up their O, maxima and sums in shared memory,
//            while the copies for the next sequence are in flight. If the whole sequence lies in
//            one run, its result is written directly. Otherwise the run has a part of it, which
//            goes to the workspace. A run has at most two parts, at its start and at its end.
//            At the end of its run, a block increments a counter for each of its parts. The block
//            that is last to increment a counter adds up all parts, in the order of their keys, and
//            sets the counter to zero again. No block waits for another.
// Traffic    It reads K and V of the visible keys once per ROWS rows (from L2 after the first
//            time), q and the lengths. It writes o. A part has 4 * head_dim + 16 bytes per row.
// Work       4 * heads * q_len * keys * head_dim flops, an eighth of what mma.sync does while the
//            bytes arrive, if heads * q_len / kv_heads <= 16.
// Expected   On an H200 with 8 KV heads of 128, bf16: 4.4 TB/s for the bytes, plus 2.5 us for the
//            launch, 0.7 us for the lengths, 1 us for the first tiles, 0.5 us for the sum over the
//            warps and 2 us for the parts. With PDL the first of these times overlap the previous
//            grid, so we expected 4 us of them to remain. README.md has the times, predicted and
//            measured.
// Tunables   ROWS      The rows of Q that a block computes with. 32 is for more than 16 rows.
//            BLOCK_N   The keys of a tile. More keys need fewer steps, but more registers.
//            WARPS     The warps that share a run.
//            STAGES    The tiles of a warp in flight. An SM has 4 * head_dim * BLOCK_N * WARPS *
//                      STAGES * BLOCKS_PER_SM bytes in flight.
//            BLOCKS_PER_SM   More blocks hide the ends of each other's sequences.
//            LEAST     The smallest number of tiles per warp in a run. With a larger one a small
//                      problem has fewer parts to add up, but uses fewer SMs.
//            PDL       The grid starts while the previous grid ends.
// Numerics   As in decode.cu. The lengths and the device decide where the lists are cut, and so the
//            order of the sums. Two runs on equal inputs give the same bits.

#include <mg/arrival_counter.cuh>
#include <mg/attention_parts.cuh>
#include <mg/attention_rows.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>

#include "decode_block.cuh"
#include "decode_even.cuh"
#include "decode_tiles.cuh"

// An item (all tiles of a sequence for one head) that several runs share. This block writes a part.
struct SharedItem {
  int sequence, pass;
  mg::i64 first_tile, tiles;
  int first_run, runs;  // set by the block that adds up the parts; runs is 0 in other blocks
};

template <class T, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, int BLOCKS_PER_SM,
          bool PDL, bool PAGED, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_decode_even(const T* q, const T* k, const T* v, const int* kv_lens,
                          const int* block_table, T* o, float* lse, float* part_sums,
                          float* part_weights, mg::u32* counters, float scale, float softcap,
                          int q_len, int kv_len, int heads, int kv_heads, int window, int page_size,
                          int max_pages, int batch, int column_count, int passes, int row_blocks,
                          int least, mg::i64 q_sb, mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb,
                          mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh,
                          mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
  using V =
      Variant<T, HEAD_DIM, ROWS, BLOCK_N, WARPS, STAGES, PAGED, CAUSAL, WINDOWED, CAPPED, LSE>;
  constexpr int kNoChunk = 0;  // the argument of the other designs
  const Arguments<T> in{
      q,     k,      v,     kv_lens,  block_table, o,         lse,      {scale, softcap, window},
      q_len, kv_len, heads, kv_heads, page_size,   max_pages, kNoChunk, q_sb,
      q_ss,  q_sh,   k_sb,  k_ss,     k_sh,        v_sb,      v_ss,     v_sh,
      o_sb,  o_ss,   o_sh};
  const Columns columns(column_count, passes, row_blocks);
  if constexpr (PDL) mg::wait_for_previous_grid();
  const TileCount<V> tile_count(in, batch);
  const EvenCut cut(tile_count.total() * passes, columns.most_runs, least);
  if (columns.run >= cut.runs) return;
  const mg::i64 run_begin = cut.begin(columns.run);
  const mg::i64 run_length = cut.begin(columns.run + 1) - run_begin;

  T* const q_tile = mg::dynamic_shared<T>();
  T* const rings = q_tile + ROWS * HEAD_DIM;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  T* const ring = rings + warp * V::kRing;
  const int group_rows = heads / kv_heads * q_len;
  const Merged<V> merged(reinterpret_cast<float*>(rings + WARPS * V::kRing),
                         minimum(ROWS, group_rows));
  const mg::AttentionParts<HEAD_DIM, ROWS> parts{part_sums, part_weights};
  auto* const shared_items =
      reinterpret_cast<SharedItem*>(merged.weights + WARPS * merged.rows_per_warp * 4);
  int shared_count = 0;

  Position<V> at = tile_count.find(in, run_begin, passes);
  typename V::Copies copies;
  RunLoader<V> loader(in, columns, at, run_length);
#pragma unroll
  for (int slot = 0; slot < STAGES; ++slot) loader.load(copies, ring + slot * 2 * V::kTile);
  RowsOfQ<V> next_q;
  next_q.load(in, columns.place<V>(in, at.sequence, at.pass));
  next_q.store(q_tile);
  __syncthreads();

  int slot = 0, turn = warp;  // turn: the tiles before this warp's next one
  for (mg::i64 left = run_length;;) {
    // The part of the run that lies in one item.
    const Place<V> place = columns.place<V>(in, at.sequence, at.pass);
    const int count = static_cast<int>(
        left < at.of_sequence.count - at.tile ? left : at.of_sequence.count - at.tile);
    mg::AttentionRows<V> rows(in.scaling, q_tile);
    rows.load_q();
    for (; turn < count; turn += WARPS) {
      copies.template wait<STAGES - 1>();
      __syncwarp();
      const int key = at.key() + turn * BLOCK_N, keys = at.of_sequence.keys;
      T* const tile = ring + slot * 2 * V::kTile;
      attend_tile(in, place, rows, tile, key, keys, keys);
      __syncwarp();  // All lanes have read the tile.
      loader.load(copies, tile);
      slot = slot == STAGES - 1 ? 0 : slot + 1;
    }
    turn -= count;

    // Adds up the sums of the warps. The loads for the next item stay in flight.
    const bool is_whole = count == at.of_sequence.count;
    const bool begins_here = at.tile == 0;
    if (!is_whole) {
      if (threadIdx.x == 0) {
        shared_items[shared_count] = {
            at.sequence,          at.pass, run_begin + run_length - left - at.tile,
            at.of_sequence.count, 0,       0};
      }
      ++shared_count;
    }
    left -= count;
    if (PDL && left == 0) mg::let_next_grid_start();
    if (left > 0) {
      at.go_to_next_item(in, passes);
      next_q.load(in, columns.place<V>(in, at.sequence, at.pass));
    }
    merged.put(rows, place.rows);
    __syncthreads();
    if (left > 0) next_q.store(q_tile);
    const Outputs<T> outputs = place.outputs(in);
    const mg::i64 part = 2 * columns.block_of(columns.run) + (begins_here ? 1 : 0);
    merged.for_each_piece(place.rows, [&](int row, int column, const mg::AttentionPiece& piece) {
      if (is_whole) {
        write<T, LSE>(outputs, row, column, piece);
      } else {
        parts.put(part, row, column, piece);
      }
    });
    if (left == 0) break;
    __syncthreads();  // Q has arrived, and the sums have been read.
  }
  if (shared_count == 0) return;

  // Adds up the items whose other parts have all been written.
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < shared_count) {
    SharedItem& item = shared_items[threadIdx.x];
    item.first_run = cut.run_of(item.first_tile);
    const int runs = cut.run_of(item.first_tile + item.tiles - 1) - item.first_run + 1;
    mg::u32* const counter = counters + columns.block_of(item.first_run);
    if (mg::count_arrival(counter) == static_cast<mg::u32>(runs - 1)) {
      *counter = 0;
      item.runs = runs;
    }
  }
  __syncthreads();
  for (int i = 0; i < shared_count; ++i) {
    const SharedItem item = shared_items[i];
    if (item.runs == 0) continue;
    const Place<V> place = columns.place<V>(in, item.sequence, item.pass);
    const Outputs<T> outputs = place.outputs(in);
    constexpr int kPieces = HEAD_DIM / 4;
    for (int n = static_cast<int>(threadIdx.x); n < place.rows * kPieces; n += V::kThreads) {
      const int row = n / kPieces, column = n % kPieces * 4;
      // The first run has its part at its end, the other runs have theirs at their start.
      const mg::AttentionPiece sum = mg::sum_of_pieces(item.runs, [&](int run) {
        const mg::i64 part = 2 * columns.block_of(item.first_run + run) + (run == 0 ? 1 : 0);
        return piece_of_part(parts, part, row, column);
      });
      write<T, LSE>(outputs, row, column, sum);
    }
  }
}
