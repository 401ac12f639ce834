// The design wgmma of attention.backward, for GPUs of compute capability 9.0. backward.cu has the
// formulas and the plain version. Pass 2 in plain code, for one block of 128 keys:
//
//   float dk[128][D] = 0, dv[128][D] = 0;             in registers, 64 rows per warpgroup
//   for (each head that shares the keys)
//     for (each tile of queries that sees any of the keys) {
//       s = k * transposed(q);                        wgmma, 128 x QUERIES
//       dp = v * transposed(dout);                    wgmma
//       p = exp2(scale * log2(e) * s - lse2[query]);  in registers
//       dv += p * dout;                               wgmma, p from registers
//       ds = p * (dp - delta[query]);                 in registers
//       dk += ds * q;                                 wgmma, ds from registers
//     }
//   write scale * dk, and dv;
//
// Pass 3 does the same with the roles exchanged: 128 queries stay, tiles of keys pass by, and there
// is one sum, dq += ds * k.
//
// Algorithm  The three passes of backward.cu. Pass 1 is the same. In passes 2 and 3 a block has one
//            producer warpgroup and CONSUMERS consumer warpgroups. Each consumer owns 64 rows of
//            one head: keys in pass 2, queries in pass 3.
//            One thread of the producer chooses the rows. It lets the copy engine bring the rows,
//            and then the tiles that any of them sees, with the figures of the queries, into a ring
//            of STAGES slots. It waits only for the consumers to free a slot.
//            A consumer issues S and dP of a tile while the sums of the previous tile are still
//            being added. It computes the exponentials of S while dP runs, and in pass 2 it
//            computes dS while P dout runs. In the remaining time the products of the other
//            consumer run.
//            Own rows and tiles are read from shared memory. P and dS stay in registers, because
//            two neighbouring accumulators, rounded, are one word of an operand. A tile is the
//            right operand of two products: its rows are the columns of S or dP, and its columns
//            are the columns of a sum.
//            A warpgroup skips a tile that none of its rows sees, and does not mask a tile that
//            every row sees. The blocks with the most tiles start first.
// Traffic    As in backward.cu, with 64 * CONSUMERS rows per read of a tile. With the default a
//            tile arrives in the time of its products: 16 to 21 bytes from L2 per SM and clock.
// Work       5 products count, 7 are executed. wgmma does 4096 flops per SM and clock, about 800
//            TFLOP/s at the clocks that an H200's power allows. Other work of the default, as
//            shares of the time of the products, in pass 2 and pass 3:
//              shared memory (128 bytes per clock, copies included) 0.87 and 0.89
//              head_dim 64    exponentials (16 per SM and clock) 0.50 and 0.67, other instructions
//                             (about six per score) 0.38 and 0.50
//              head_dim 128   half of these for exponentials and instructions
//            So shared memory is the closest limit: S and dP read the own rows for every tile,
//            because at head_dim 128 no registers are left to hold them.
//            The registers of a thread in pass 2 at head_dim 128 with 64 queries are 128 for dk and
//            dv, 32 each for S and dP, and 16 for the dS that a product still reads: 208 of 240.
//            The other values need 28. The default has 162 KB of shared memory in pass 2 and
//            208 KB in pass 3.
//            Expected on an H200 at 4,096 tokens, full: 70 % of the 800 TFLOP/s at head_dim 128 and
//            62 % at 64, of which 5 / 7 count: 400 and 355 TFLOP/s. Causal was expected 8 % lower,
//            and at 240 for 1,024 tokens, where a third of the tiles lie on the diagonal. Measured
//            at head_dim 128: 427 full, 400 causal, and 300 for 1,024 tokens.
// Tunables   DKV_CONSUMERS, DQ_CONSUMERS   The consumer warpgroups. Three share one read of a
//                        tile, but their threads have 160 registers instead of 240.
//            DKV_QUERIES, DQ_KEYS   The rows of a tile. With more rows there are fewer waits, and
//                        the own rows are read less often, but S, dP and dS take 5 / 4 of a
//                        register per row.
//            STAGES      The slots for tiles.
//            SCHEDULE    grid: a block has 64 * CONSUMERS rows. dynamic: there is one block per SM,
//                        which takes the next rows from a counter in global memory. Copies for the
//                        next rows begin while the previous gradients are written.
//            HEADS_AT_ONCE   As in backward.cu.
// Numerics   As in backward.cu. The parameters fix the order of all sums.

#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>

#include "backward_figures.cuh"
#include "backward_wgmma.cuh"
#include "prefill_tiles.cuh"

// The jobs of pass 2: the keys of a block of one KV head.
template <class V, int HEADS_AT_ONCE>
struct KeyJobs {
  using T = typename V::T;
  BackwardProblem problem;
  int count;
  T *dk, *dv;
  mg::i64 dk_sb, dk_ss, dk_sh, dv_sb, dv_ss, dv_sh;

  __device__ __forceinline__ BackwardJob at(int number) const {
    const int keys = problem.seq_k, kv_heads = problem.kv_heads, group = problem.group;
    const Place place =
        place_of_block<HEADS_AT_ONCE>(number, keys, problem.batch * kv_heads, V::kRows);
    const int b = place.head / kv_heads, kv_head = place.head - b * kv_heads;
    // The first keys are seen by the most queries, so their blocks come first.
    const int last = (keys + V::kRows - 1) / V::kRows - 1;
    const int first_key = (last - place.first_row / V::kRows) * V::kRows;
    const int first_seen = V::kCausal ? maximum(0, first_key - problem.diagonal()) : 0;
    return {b,
            kv_head,
            first_key,
            kv_head * group,
            kv_head * group + group - 1,
            first_seen / V::kColumns * V::kColumns,
            problem.seq_q};
  }

  __device__ __forceinline__ void write(const BackwardJob& job,
                                        const WarpgroupGradients<V>& gradients) const {
    gradients.write_sums(job, problem.scale, dk + job.batch * dk_sb + job.own_head * dk_sh, dk_ss);
    gradients.write_value_sums(job, dv + job.batch * dv_sb + job.own_head * dv_sh, dv_ss);
  }
};

// The jobs of pass 3: the queries of a block of one head.
template <class V, int HEADS_AT_ONCE>
struct QueryJobs {
  using T = typename V::T;
  BackwardProblem problem;
  int count;
  T* dq;
  mg::i64 dq_sb, dq_ss, dq_sh;

  __device__ __forceinline__ BackwardJob at(int number) const {
    const int queries = problem.seq_q, keys = problem.seq_k, heads = problem.heads;
    const Place place =
        place_of_block<HEADS_AT_ONCE>(number, queries, problem.batch * heads, V::kRows);
    const int b = place.head / heads, head = place.head - b * heads;
    const int kv_head = head / problem.group;
    const int last_query = minimum(place.first_row + V::kRows, queries) - 1;
    const int end = V::kCausal ? minimum(keys, last_query + problem.diagonal() + 1) : keys;
    return {b, head, place.first_row, kv_head, kv_head, 0, end};
  }

  __device__ __forceinline__ void write(const BackwardJob& job,
                                        const WarpgroupGradients<V>& gradients) const {
    gradients.write_sums(job, problem.scale, dq + job.batch * dq_sb + job.own_head * dq_sh, dq_ss);
  }
};

template <class T, int HEAD_DIM, int CONSUMERS, int QUERIES, int STAGES, SCHEDULE ORDER,
          int HEADS_AT_ONCE, bool CAUSAL>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    attention_backward_dkv_wgmma(const __grid_constant__ mg::TensorMap q,
                                 const __grid_constant__ mg::TensorMap k,
                                 const __grid_constant__ mg::TensorMap v,
                                 const __grid_constant__ mg::TensorMap dout, const float* lse2,
                                 const float* delta, T* dk, T* dv, mg::u32* counter, int count,
                                 float scale, int batch, int seq_q, int seq_k, int padded_q,
                                 int heads, int kv_heads, int group, mg::i64 dk_sb, mg::i64 dk_ss,
                                 mg::i64 dk_sh, mg::i64 dv_sb, mg::i64 dv_ss, mg::i64 dv_sh) {
  using V = WgmmaPass<T, HEAD_DIM, OWN::keys, CONSUMERS, QUERIES, STAGES, CAUSAL>;
  const BackwardProblem problem{lse2,  delta,    scale, batch,    seq_q,
                                seq_k, padded_q, heads, kv_heads, group};
  const KeyJobs<V, HEADS_AT_ONCE> jobs{problem, count, dk,    dv,    dk_sb,
                                       dk_ss,   dk_sh, dv_sb, dv_ss, dv_sh};
  run<V, ORDER>(jobs, {k, v, q, dout}, counter);
}

template <class T, int HEAD_DIM, int CONSUMERS, int KEYS, int STAGES, SCHEDULE ORDER,
          int HEADS_AT_ONCE, bool CAUSAL>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    attention_backward_dq_wgmma(const __grid_constant__ mg::TensorMap q,
                                const __grid_constant__ mg::TensorMap k,
                                const __grid_constant__ mg::TensorMap v,
                                const __grid_constant__ mg::TensorMap dout, const float* lse2,
                                const float* delta, T* dq, mg::u32* counter, int count, float scale,
                                int batch, int seq_q, int seq_k, int padded_q, int heads,
                                int kv_heads, int group, mg::i64 dq_sb, mg::i64 dq_ss,
                                mg::i64 dq_sh) {
  using V = WgmmaPass<T, HEAD_DIM, OWN::queries, CONSUMERS, KEYS, STAGES, CAUSAL>;
  const BackwardProblem problem{lse2,  delta,    scale, batch,    seq_q,
                                seq_k, padded_q, heads, kv_heads, group};
  const QueryJobs<V, HEADS_AT_ONCE> jobs{problem, count, dq, dq_sb, dq_ss, dq_sh};
  run<V, ORDER>(jobs, {q, dout, k, v}, counter);
}
