// Which rows a block of the design wgmma of attention.prefill and attention.varlen computes. A
// block of rows belongs to one head, or with PACK_GQA to a group of heads.
//
//   jobs.blocks()                     how many blocks of rows there are
//   jobs.at(block, turn, job)         makes a job; false: this block of rows has no more
//   jobs.group                        the heads of a tile

#pragma once

#include <mg/types.cuh>

#include "prefill_tiles.cuh"
#include "prefill_wgmma.cuh"

// The blocks of rows of attention.prefill, in the order of place_of_block().
template <class V, int HEADS_AT_ONCE>
struct PrefillJobs {
  using T = typename V::T;
  T* o;
  float* lse;
  int batch, seq_q, seq_k, heads, kv_heads;
  mg::i64 o_sb, o_ss, o_sh;
  typename V::Group group;

  __device__ __forceinline__ int blocks() const {
    return (seq_q + group.queries() - 1) / group.queries() * batch * jobs_of_row();
  }
  // How many jobs share a row: one per head, or one per group.
  __device__ __forceinline__ int jobs_of_row() const { return V::kPacksHeads ? kv_heads : heads; }

  __device__ __forceinline__ bool at(int block, int turn, Job<T>& job) const {
    if (turn > 0) return false;
    const Place place =
        place_of_block<HEADS_AT_ONCE>(block, seq_q, batch * jobs_of_row(), group.queries());
    const int b = place.head / jobs_of_row();
    const int head = place.head % jobs_of_row() * (V::kPacksHeads ? group.size : 1);
    const int head_of_batch = V::kPacksHeads ? b * heads + head : place.head;
    job = {place.first_row,
           seq_q,
           seq_k,
           0,
           0,
           head,
           head / (heads / kv_heads),
           b,
           o + b * o_sb + head * o_sh,
           V::kLse ? lse + mg::i64{head_of_batch} * seq_q : nullptr,
           o_ss};
    return true;
  }
};

// The blocks of rows of attention.varlen. There are blocks for max_q rows per sequence. If a
// sequence is longer, its blocks take further rows, one turn after the other.
template <class V, int HEADS_AT_ONCE>
struct VarlenJobs {
  using T = typename V::T;
  const int *q_starts, *k_starts;
  T* o;
  float* lse;
  int sequences, tokens_q, max_q, heads, kv_heads;
  mg::i64 o_ss, o_sh;
  typename V::Group group;

  __device__ __forceinline__ int row_blocks() const {
    return (max_q + group.queries() - 1) / group.queries();
  }
  __device__ __forceinline__ int blocks() const { return row_blocks() * sequences * jobs_of_row(); }
  __device__ __forceinline__ int jobs_of_row() const { return V::kPacksHeads ? kv_heads : heads; }

  __device__ __forceinline__ bool at(int block, int turn, Job<T>& job) const {
    const Place place =
        place_of_block<HEADS_AT_ONCE>(block, max_q, sequences * jobs_of_row(), group.queries());
    const int s = place.head / jobs_of_row();
    const int head = place.head % jobs_of_row() * (V::kPacksHeads ? group.size : 1);
    const int q_start = q_starts[s], k_start = k_starts[s], rows = q_starts[s + 1] - q_start;
    const mg::i64 first_row = place.first_row + mg::i64{turn} * row_blocks() * group.queries();
    if (first_row >= rows) return false;
    job = {static_cast<int>(first_row),
           rows,
           k_starts[s + 1] - k_start,
           q_start,
           k_start,
           head,
           head / (heads / kv_heads),
           0,
           o + q_start * o_ss + head * o_sh,
           V::kLse ? lse + mg::i64{head} * tokens_q + q_start : nullptr,
           o_ss};
    return true;
  }
};
