// Pass 1 of attention.backward, which all designs share: the two figures of each query that the
// passes over tiles need. They are delta, the dot product of dout and o, and the log-sum-exp in
// units of log2. A row that is not there, or that sees no key, gets +inf for the latter, so that
// its exponentials 2^(logit - figure) are 0 without a mask.
//
// Traffic    Reads o and dout once and lse, and writes 8 bytes per row.

#pragma once

#include <mg/attention_rows.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

// The workspace has padded_q figures per head, and HEAD_DIM / 8 threads compute one of them.
template <class T, int HEAD_DIM, int THREADS>
__global__ void __launch_bounds__(THREADS)
    attention_backward_rows(const T* o, const T* dout, const float* lse, float* lse2, float* delta,
                            mg::i64 count, int seq_q, int padded_q, int heads, mg::i64 o_sb,
                            mg::i64 o_ss, mg::i64 o_sh, mg::i64 dout_sb, mg::i64 dout_ss,
                            mg::i64 dout_sh) {
  constexpr int kLanes = HEAD_DIM / 8;
  const mg::i64 index = mg::i64{blockIdx.x} * (THREADS / kLanes) + threadIdx.x / kLanes;
  const int row = static_cast<int>(index % padded_q), lane = static_cast<int>(threadIdx.x) % kLanes;
  const mg::i64 head_index = index / padded_q, b = head_index / heads, head = head_index % heads;
  const bool is_there = index < count && row < seq_q;
  float sum = 0.0f;
  if (is_there) {
    float left[8], right[8];
    mg::to_floats(mg::load<8>(o + b * o_sb + row * o_ss + head * o_sh + lane * 8), left);
    mg::to_floats(mg::load<8>(dout + b * dout_sb + row * dout_ss + head * dout_sh + lane * 8),
                  right);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += left[i] * right[i];
  }
  sum = mg::sum_of_lanes<kLanes>(sum);
  if (lane != 0 || index >= count) return;
  const float logarithm = is_there ? lse[head_index * seq_q + row] : -mg::infinity();
  lse2[index] = logarithm == -mg::infinity() ? mg::infinity() : logarithm * mg::kLog2E;
  delta[index] = sum;
}
