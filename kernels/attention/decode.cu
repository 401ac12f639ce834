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
// Algorithm  The queries of all heads that share a KV head are the rows of one matrix. K and V are
//            read once for all of them.
//            A sequence is cut into chunks, so that all SMs work on it. A block has ROWS rows and
//            one chunk. Its warps take tiles of BLOCK_N keys in turn.
//            Each warp copies its own tiles by cp.async, STAGES ahead. It waits for no other warp,
//            which saves every barrier between the first tile and the last.
//            A warp keeps Q, the softmax and its own O of all rows in registers. At the end the
//            warps add up their O, maxima and sums in shared memory.
//            If a sequence has only one chunk, its result is then written directly. The parts of
//            other sequences are added in the order of their keys, in one of three ways:
//              COMBINE last_block   The parts lie in the workspace. A counter finds the block that
//                                   ends last. This block adds them up and sets the counter to zero
//                                   again.
//              COMBINE kernel       A second kernel adds them up.
//              attention_decode_cluster   The chunks are the blocks of a cluster. Each block adds
//                                   up an equal share of O in its shared memory.
// Traffic    It reads K and V of the visible keys once per ROWS rows (from L2 after the first
//            time), q and the lengths. It writes o. A part has 4 * head_dim + 16 bytes per row,
//            which are written and read through L2. In groups of 4 heads this is 1 / 8 of the bytes
//            of a chunk of 64 keys, and 1 / 64 of the bytes of a chunk of 512.
// Work       4 * heads * q_len * keys * head_dim flops. If heads * q_len / kv_heads <= 16, this is
//            an eighth of what mma.sync does while the bytes arrive: the kernel is bound by memory.
// Expected   On an H200 with 32 query heads, 8 KV heads of 128, bf16. A kernel that only reads gets
//            4.4 TB/s. A launch takes 2.5 us, or less if it overlaps the previous kernel. The
//            length takes 0.5 us, the first tiles 1 us, the sum over the warps 0.5 us, and the sum
//            over the parts 1.5 us (0.7 us in a cluster). Together with the time of the bytes,
//            these 5 us give, in us:
//              batch 1    1k    4 MB    1 + 5 =   6    8k   34 MB    8 + 5 =  13
//                        32k  134 MB   30 + 5 =  35
//              batch 8    1k   34 MB    8 + 5 =  13    8k  268 MB   61 + 5 =  66
//                        32k  1.1 GB  244 + 5 = 249
//              batch 64   8k  2.1 GB  488 + 5 = 493   32k  8.6 GB             1957
// Tunables   ROWS      The rows of Q that a block computes with. 32 is for more than 16 rows.
//            BLOCK_N   The keys of a warp's tile. With more keys there are fewer steps and more
//                      independent products, but more registers are needed.
//            WARPS     The warps that share a chunk. More warps leave more sums to merge at the
//                      end.
//            STAGES    The tiles in flight. An SM needs 33 KB in flight, and 64 to 128 KB are
//                      better. A block has WARPS * STAGES * BLOCK_N * 4 * head_dim bytes.
//            BLOCKS_PER_SM   The blocks that the compiler leaves registers for.
//            GRID_BLOCKS     The blocks per SM that chunks are cut for. With fewer blocks there are
//                            fewer parts to add up; with more blocks the SMs end at more equal
//                            times. If there are more sequences and heads than blocks, a chunk is a
//                            whole sequence. Then rings of 64 KB are best: three blocks fit on an
//                            SM and read side by side, so it matters little that some SMs have one
//                            block more than others.
//            COMBINE   last_block needs no second launch. kernel has more threads for the last sum.
//            CLUSTER   The parts of a sequence. More parts are more blocks with fewer keys each.
//            PDL       The grid starts while the previous grid ends, and prefetches a short chunk
//                      of K and V into L2. The second kernel is ready when the first one ends. A
//                      grid lets the next one start after its last tile, not earlier: otherwise the
//                      blocks of both fill the SMs unevenly (17 x 1,024 keys took 30 us, not 20).
// Numerics   As in prefill.cu: products are exact, sums and softmax are fp32, P is rounded to T,
//            row sums add the rounded P (lse has its own sum), and o is rounded once. Parts are
//            fp32 and are added in a fixed order: two runs give the same bits.

#include <mg/arrival_counter.cuh>
#include <mg/attention_parts.cuh>
#include <mg/cluster.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>

#include "decode_block.cuh"
#include "decode_tiles.cuh"

enum class COMBINE { kernel, last_block };

// Whether this block is the last of `count` blocks that call this function. The last one then sees
// what the others wrote.
__device__ __forceinline__ bool is_last_part(mg::u32* counter, int count) {
  MG_SHARED(mg::u32, before);
  __syncthreads();
  if (threadIdx.x == 0) {
    before = mg::count_arrival(counter);
    if (before == static_cast<mg::u32>(count - 1)) *counter = 0;
  }
  __syncthreads();
  return before == static_cast<mg::u32>(count - 1);
}

template <class T, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, int BLOCKS_PER_SM,
          COMBINE HOW, bool PDL, bool PAGED, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_decode(const T* q, const T* k, const T* v, const int* kv_lens, const int* block_table,
                     T* o, float* lse, float* part_sums, float* part_weights, mg::u32* counters,
                     float scale, float softcap, int q_len, int kv_len, int heads, int kv_heads,
                     int window, int page_size, int max_pages, int chunk, int prefetched,
                     mg::i64 q_sb, mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb, mg::i64 k_ss,
                     mg::i64 k_sh, mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh, mg::i64 o_sb,
                     mg::i64 o_ss, mg::i64 o_sh) {
  using V =
      Variant<T, HEAD_DIM, ROWS, BLOCK_N, WARPS, STAGES, PAGED, CAUSAL, WINDOWED, CAPPED, LSE>;
  const Arguments<T> in{
      q,     k,      v,     kv_lens,  block_table, o,         lse,   {scale, softcap, window},
      q_len, kv_len, heads, kv_heads, page_size,   max_pages, chunk, q_sb,
      q_ss,  q_sh,   k_sb,  k_ss,     k_sh,        v_sb,      v_ss,  v_sh,
      o_sb,  o_ss,   o_sh};
  const Place<V> place(in);
  begin<V, PDL>(in, place, prefetched);
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
  const Merged<V> merged = attend<V, PDL>(in, place, keys, first_key, end_key);
  merged.for_each_piece(place.rows, [&](int row, int column, const mg::AttentionPiece& piece) {
    if (cut.parts == 1) {
      write<T, LSE>(outputs, row, column, piece);
    } else {
      parts.put(first_part + place.part, row, column, piece);
    }
  });
  if constexpr (HOW == COMBINE::last_block) {
    if (cut.parts == 1 || !is_last_part(counters + tile, cut.parts)) return;
    constexpr int kPieces = HEAD_DIM / 4;
    for (int i = static_cast<int>(threadIdx.x); i < place.rows * kPieces; i += V::kThreads) {
      const int row = i / kPieces, column = i % kPieces * 4;
      write<T, LSE>(outputs, row, column, parts.sum(first_part, cut.parts, row, column));
    }
  }
}

// The parts of a sequence are the blocks of a cluster. Each block owns an equal share of the pieces
// of O. All blocks send their values for this share into the owner's shared memory, after the
// rings, where nothing else lies. The owner adds them up and writes them.
template <class T, int HEAD_DIM, int ROWS, int BLOCK_N, int WARPS, int STAGES, int BLOCKS_PER_SM,
          int CLUSTER, bool PDL, bool PAGED, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_decode_cluster(const T* q, const T* k, const T* v, const int* kv_lens,
                             const int* block_table, T* o, float* lse, float scale, float softcap,
                             int q_len, int kv_len, int heads, int kv_heads, int window,
                             int page_size, int max_pages, int chunk, int prefetched, mg::i64 q_sb,
                             mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb, mg::i64 k_ss, mg::i64 k_sh,
                             mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh, mg::i64 o_sb, mg::i64 o_ss,
                             mg::i64 o_sh) {
  using V =
      Variant<T, HEAD_DIM, ROWS, BLOCK_N, WARPS, STAGES, PAGED, CAUSAL, WINDOWED, CAPPED, LSE>;
  constexpr int kStep = WARPS * BLOCK_N;
  const Arguments<T> in{
      q,     k,      v,     kv_lens,  block_table, o,         lse,   {scale, softcap, window},
      q_len, kv_len, heads, kv_heads, page_size,   max_pages, chunk, q_sb,
      q_ss,  q_sh,   k_sb,  k_ss,     k_sh,        v_sb,      v_ss,  v_sh,
      o_sb,  o_ss,   o_sh};
  mg::cluster_arrive();
  const Place<V> place(in);
  begin<V, PDL>(in, place, prefetched);
  // Parts are cut by the actual length of the sequence, not by kv_len, because every block of the
  // cluster runs in any case.
  const int keys = kv_lens[place.sequence];
  const int begin_key = WINDOWED ? maximum(0, keys - q_len - window) : 0;
  const int share = (keys - begin_key + CLUSTER * kStep - 1) / (CLUSTER * kStep) * kStep;
  const int first_key = begin_key + place.part * share;

  const Outputs<T> outputs = place.outputs(in);
  const Merged<V> merged =
      attend<V, PDL>(in, place, keys, first_key, minimum(keys, first_key + share));

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
  const int first = rank * share_of_pieces, end = minimum(pieces, first + share_of_pieces);
  for (int index = first + static_cast<int>(threadIdx.x); index < end; index += V::kThreads) {
    const float4* const own_slots = slots + 2 * (index - first) * CLUSTER;
    const mg::AttentionPiece sum = mg::sum_of_pieces(CLUSTER, [&](int part) {
      return mg::AttentionPiece{own_slots[2 * part], own_slots[2 * part + 1]};
    });
    write<T, LSE>(outputs, index / kPieces, index % kPieces * 4, sum);
  }
}

// Adds up the parts. A thread computes four columns of a row. blockIdx.x counts the threads for the
// rows of one sequence and KV head, blockIdx.y the KV heads, blockIdx.z the sequences.
template <class T, int HEAD_DIM, int ROWS, int THREADS, bool PDL, bool WINDOWED, bool LSE>
__global__ void __launch_bounds__(THREADS)
    attention_decode_combine(const int* kv_lens, T* o, float* lse, float* part_sums,
                             float* part_weights, int q_len, int heads, int kv_heads, int window,
                             int chunk, int max_parts, mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
  if constexpr (PDL) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  constexpr int kPieces = HEAD_DIM / 4;
  const int b = static_cast<int>(blockIdx.z), kv_head = static_cast<int>(blockIdx.y);
  const int group = heads / kv_heads;
  const Cut cut = Cut::of<WINDOWED>(kv_lens[b], q_len, window, chunk, max_parts);
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
  write<T, LSE>(outputs, row, column, parts.sum(tile * max_parts, cut.parts, row % ROWS, column));
}
