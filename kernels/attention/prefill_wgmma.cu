// The design wgmma of attention.prefill and attention.varlen, for GPUs of compute capability 9.0.
// prefill.cu has the formulas, the flags and the plain version.
//
// Algorithm  FlashAttention-3 (Shah and others, 2024). A block has one producer warpgroup and
//            CONSUMERS consumer warpgroups. Each consumer owns 64 queries of one head.
//            One thread of the producer chooses the rows. It lets the copy engine bring Q and the
//            tiles of K and V, from the last keys to the first, into rings of STAGES tiles. It
//            waits only for the consumers to free a slot.
//            A consumer issues S = Q K^T of the next tile and O += P V of this tile, and computes
//            the softmax of the next tile while O += P V runs. Q, K and V are read from shared
//            memory. P stays in registers, because two neighbouring accumulators, rounded, are one
//            word of an operand.
//            With PINGPONG the consumers take turns in issuing, so that the softmax of one runs
//            during the products of the other.
//            Tiles that every row of a warpgroup sees are not masked: the loop has three parts. The
//            softmax, the factor scale * log2(e) and the choice of tiles are as in prefill.cu. O is
//            rescaled only when exponentials would otherwise exceed 2^8.
//            In a packed batch the last tile of V can reach into the next sequence. P is 0 there,
//            but 0 * NaN is NaN, so the consumers overwrite these rows with zeros.
// Traffic    As in prefill.cu, with 64 * CONSUMERS queries per read of K and V.
// Work       2 * queries * keys * (head_dim + value_dim) flops per head, half of it if causal.
//            wgmma does 4096 flops per SM and clock, about 800 TFLOP/s at the clocks that an
//            H200's power allows. Other work of a tile, as a share of the time of its products:
//              exponentials (16 per SM and clock): 1.0 at head_dim 64, 0.5 at 128, 0.25 at 256
//              the other instructions of the softmax, about six per score: 0.75, 0.38, 0.19
//            Expected on an H200 at 4,096 tokens, full: 480 TFLOP/s at head_dim 64, 600 to 660 at
//            128, 600 to 680 at 256; causal 10 to 15 % less.
// Tunables   CONSUMERS   The consumer warpgroups. Three share one read of K and V, but their
//                        threads have 160 registers instead of 232.
//            BLOCK_N     The keys of a tile.
//            STAGES      The tiles of K, and of V, in shared memory.
//            Q_STAGES    The tiles of Q in shared memory. With two, Q of the next rows arrives
//                        while these are computed, which matters for short sequences.
//            PINGPONG    The consumers take turns in issuing products.
//            SCHEDULE    grid: a block has 64 * CONSUMERS rows. dynamic: there is one block per SM,
//                        which takes the next rows from a counter in global memory. The copies for
//                        the next rows begin before the previous rows are done.
//            HEADS_AT_ONCE   As in prefill.cu.
//            EXP_POLY    How many of 8 exponentials are computed by polynomials instead of the
//                        special function unit, which is as busy as the tensor cores at head_dim
//                        64.
//            PACK_GQA    The rows of a tile are the query heads that share a KV head, query after
//                        query (head_group.cuh). So a few queries fill a tile, and K and V are read
//                        once for the group.
// Numerics   Products are exact. Sums, softmax and O are fp32. P is rounded to T. The row sums, for
//            o and lse, add P before it is rounded. o is rounded once. The parameters fix the order
//            of all sums. A polynomial has a relative error of at most 7.6e-5.

#include <mg/shared.cuh>

#include "job_order.cuh"
#include "prefill_jobs.cuh"
#include "prefill_wgmma.cuh"

// The producer thread.
template <class V>
class Producer {
 public:
  using T = typename V::T;

  __device__ __forceinline__ Producer(const Memory<V>& memory, const Scaling& scaling,
                                      const typename V::Group& group, const mg::TensorMap& q_map,
                                      const mg::TensorMap& k_map, const mg::TensorMap& v_map)
      : memory_(memory),
        window_(scaling.window),
        q_map_(q_map),
        k_map_(k_map),
        v_map_(v_map),
        q_(memory.q_ring()),
        k_(memory.k_ring()),
        v_(memory.v_ring()),
        group_(group) {}

  // Copies Q, and the tiles of K and V in the order of their use.
  __device__ __forceinline__ void bring(const Job<T>& job) {
    const Tiles<V> tiles(job.rows, job.keys, job.first_row, window_, group_.queries());
    if (tiles.count > 0) bring_k(job, tiles.key(0));
    q_.wait_until_empty();
    memory_.jobs[q_.slot()] = job;
    if (tiles.count == 0) {
      mg::arrive(q_.full());
    } else if constexpr (V::kPacksHeads) {
      bring_q_of_group(job);
    } else {
      mg::arrive_expecting(q_.full(), V::Q::kBytes);
      mg::tensor_load_once(memory_.q_tile(q_.slot()), q_map_, q_.full(), 0,
                           job.q_row + job.first_row, 0, job.head, job.batch);
    }
    q_.advance();
    for (int tile = 1; tile < tiles.count; ++tile) {
      bring_k(job, tiles.key(tile));
      bring_v(job, tiles.key(tile - 1));
    }
    if (tiles.count > 0) bring_v(job, tiles.key(tiles.count - 1));
  }

  // Tells the consumers that there are no more jobs.
  __device__ __forceinline__ void end() {
    q_.wait_until_empty();
    memory_.jobs[q_.slot()].rows = 0;
    mg::arrive(q_.full());
  }

 private:
  // The rows of a group come panel by panel, because they need not fill the tile.
  __device__ __forceinline__ void bring_q_of_group(const Job<T>& job) {
    const int rows = group_.queries() * group_.size;
    mg::arrive_expecting(q_.full(), static_cast<mg::u32>(rows * V::kHeadDim * 2));
#pragma unroll
    for (int panel = 0; panel < V::Q::kPanels; ++panel) {
      mg::tensor_load_once(memory_.q_tile(q_.slot()) + panel * V::Q::kPanelBytes / 2, q_map_,
                           q_.full(), 0, job.head, job.q_row + job.first_row, panel, job.batch);
    }
  }
  __device__ __forceinline__ void bring_k(const Job<T>& job, int key) {
    k_.wait_until_empty();
    mg::arrive_expecting(k_.full(), V::K::kBytes);
    mg::tensor_load_kept(memory_.k_tile(k_.slot()), k_map_, k_.full(), 0, job.k_row + key, 0,
                         job.kv_head, job.batch);
    k_.advance();
  }
  __device__ __forceinline__ void bring_v(const Job<T>& job, int key) {
    v_.wait_until_empty();
    mg::arrive_expecting(v_.full(), V::Values::kBytes);
    mg::tensor_load_kept(memory_.v_tile(v_.slot()), v_map_, v_.full(), 0, job.k_row + key, 0,
                         job.kv_head, job.batch);
    v_.advance();
  }

  const Memory<V>& memory_;
  int window_;
  const mg::TensorMap &q_map_, &k_map_, &v_map_;
  mg::CopyRing<V::kQStages> q_;
  mg::CopyRing<V::kStages> k_, v_;
  typename V::Group group_;
};

// Overwrites the rows of a tile of V that lie past the end of the keys. Every warpgroup does this
// for itself: all write the same zeros, so they need not wait for each other.
template <class V>
__device__ __forceinline__ void clear_tail(typename V::T* tile, int first_row) {
  if (first_row >= V::kKeys) return;
  constexpr int kPieces = V::kValueDim / 8;
  const int pieces = (V::kKeys - first_row) * kPieces;
  for (int i = static_cast<int>(threadIdx.x % 128u); i < pieces; i += 128) {
    const mg::u32 offset = V::Values::offset(first_row + i / kPieces, i % kPieces * 8);
    *reinterpret_cast<uint4*>(reinterpret_cast<unsigned char*>(tile) + offset) = {0, 0, 0, 0};
  }
  mg::publish_to_wgmma();
  mg::sync_group<128>();
}

// A consumer warpgroup. All its threads call run().
template <class V>
class Consumer {
 public:
  using T = typename V::T;

  __device__ __forceinline__ Consumer(const Memory<V>& memory, const Scaling& scaling,
                                      const typename V::Group& group, int number)
      : memory_(memory),
        window_(scaling.window),
        number_(number),
        turns_(number == 0 ? 1u : 0u),  // The first warpgroup begins.
        q_(memory.q_ring()),
        k_(memory.k_ring()),
        v_(memory.v_ring()),
        rows_(scaling, group, number),
        group_(group) {}

  __device__ __forceinline__ void run() {
    while (true) {
      q_.wait_until_full();
      const Job<T> job = memory_.jobs[q_.slot()];
      if (job.rows == 0) return;
      attend(job);
    }
  }

 private:
  __device__ __forceinline__ void attend(const Job<T>& job) {
    const Tiles<V> tiles(job.rows, job.keys, job.first_row, window_, group_.queries());
    rows_.begin();
    if (tiles.count == 0) {
      q_.release();
      q_.advance();
      rows_.write(job);
      return;
    }
    const int first_own = job.first_row + group_.query(64 * number_) + tiles.diagonal;
    k_.wait_until_full();
    rows_.issue_scores(memory_.q_tile(q_.slot()), memory_.k_tile(k_.slot()));
    rows_.template wait_for_scores<0>();
    k_.release();
    k_.advance();
    rows_.template softmax<true>(first_own, tiles.key(0), job.keys);
    rows_.pack();
    if constexpr (V::kPacked) {
      v_.wait_until_full();
      clear_tail<V>(memory_.v_tile(v_.slot()), job.keys - tiles.key(0));
    }
    int tile = 1;
    for (; tile < tiles.count && hides(job, tiles.key(tile), first_own); ++tile) {
      follow<true>(job, tiles.key(tile), first_own);
    }
    for (; tile < tiles.count && !hides(job, tiles.key(tile), first_own); ++tile) {
      follow<false>(job, tiles.key(tile), first_own);
    }
    if constexpr (V::kWindowed) {
      for (; tile < tiles.count; ++tile) follow<true>(job, tiles.key(tile), first_own);
    }
    q_.release();
    q_.advance();
    v_.wait_until_full();
    rows_.issue_output(memory_.v_tile(v_.slot()));
    rows_.wait_for_output();
    v_.release();
    v_.advance();
    rows_.write(job);
  }

  // Whether some row of the warpgroup does not see some key of the tile that begins at `key`.
  __device__ __forceinline__ bool hides(const Job<T>& job, int key, int first_own) const {
    const int last = key + V::kKeys - 1;
    bool is_hidden = last >= job.keys;
    if constexpr (V::kCausal) is_hidden |= last > first_own;
    if constexpr (V::kWindowed && !V::kCausal) is_hidden |= last > first_own + window_;
    if constexpr (V::kWindowed) is_hidden |= key < first_own + rows_.queries_to(63) - window_;
    return is_hidden;
  }

  // Computes the scores and the softmax of a tile, and P V of the tile before it.
  template <bool kMasked>
  __device__ __forceinline__ void follow(const Job<T>& job, int key, int first_own) {
    k_.wait_until_full();
    if constexpr (V::kPingpong) mg::wait(memory_.turn(number_), turns_++ & 1u);
    rows_.issue_scores(memory_.q_tile(q_.slot()), memory_.k_tile(k_.slot()));
    v_.wait_until_full();
    rows_.issue_output(memory_.v_tile(v_.slot()));
    if constexpr (V::kPingpong) {
      const int next = number_ == V::kConsumers - 1 ? 0 : number_ + 1;
      if (threadIdx.x % 32u == 0) mg::arrive(memory_.turn(next));
    }
    rows_.template wait_for_scores<1>();
    k_.release();
    k_.advance();
    rows_.template softmax<kMasked>(first_own, key, job.keys);
    rows_.wait_for_output();
    v_.release();
    v_.advance();
    rows_.pack();
    rows_.rescale();
  }

  const Memory<V>& memory_;
  int window_, number_;
  mg::u32 turns_;
  mg::CopyRing<V::kQStages> q_;
  mg::CopyRing<V::kStages> k_, v_;
  WarpgroupRows<V> rows_;
  typename V::Group group_;
};

// Runs the jobs of a block. jobs.at(block, turn, job) makes a job, or returns false if this block
// of rows has no more jobs. jobs.group is the group of heads of a tile. There are `blocks` blocks
// of rows. `counter` is 0 before and after a launch.
template <class V, SCHEDULE kSchedule, class Jobs>
__device__ __forceinline__ void run(const Jobs& jobs, int blocks, mg::u32* counter,
                                    const Scaling& scaling, const mg::TensorMap& q_map,
                                    const mg::TensorMap& k_map, const mg::TensorMap& v_map) {
  MG_SHARED(mg::CopyBarrier, barriers, [Memory<V>::kBarriers]);
  MG_SHARED(Job<typename V::T>, jobs_in_memory, [V::kQStages]);
  const Memory<V> memory(jobs_in_memory, barriers);
  if (threadIdx.x == 0) {
    mg::prefetch(q_map);
    mg::prefetch(k_map);
    mg::prefetch(v_map);
    memory.init();
  }
  __syncthreads();
  const int warpgroup = mg::warpgroup();
  if (warpgroup > 0) {
    if constexpr (V::kConsumers > 1) mg::grow_registers<V::kConsumerRegisters>();
    Consumer<V>(memory, scaling, jobs.group, warpgroup - 1).run();
    return;
  }
  if constexpr (V::kConsumers > 1) mg::shrink_registers<V::kProducerRegisters>();
  if (threadIdx.x != 0) return;
  Producer<V> producer(memory, scaling, jobs.group, q_map, k_map, v_map);
  int block = static_cast<int>(blockIdx.x);
  while (block < blocks) {
    Job<typename V::T> job;
    for (int turn = 0; jobs.at(block, turn, job); ++turn) producer.bring(job);
    if constexpr (kSchedule == SCHEDULE::grid) break;
    block = next_job(counter, blocks);
  }
  producer.end();
}

template <class T, int HEAD_DIM, int VALUE_DIM, int CONSUMERS, int BLOCK_N, int STAGES,
          int Q_STAGES, bool PINGPONG, SCHEDULE ORDER, int HEADS_AT_ONCE, int EXP_POLY,
          bool PACK_GQA, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    attention_prefill_wgmma(const __grid_constant__ mg::TensorMap q,
                            const __grid_constant__ mg::TensorMap k,
                            const __grid_constant__ mg::TensorMap v, T* o, float* lse,
                            mg::u32* counter, float scale, float softcap, int batch, int seq_q,
                            int seq_k, int heads, int kv_heads, int window, mg::i64 o_sb,
                            mg::i64 o_ss, mg::i64 o_sh) {
  using V = WgmmaVariant<T, HEAD_DIM, VALUE_DIM, CONSUMERS, BLOCK_N, STAGES, Q_STAGES, PINGPONG,
                         EXP_POLY, CAUSAL, WINDOWED, CAPPED, LSE, false, PACK_GQA>;
  const PrefillJobs<V, HEADS_AT_ONCE> jobs{o,
                                           lse,
                                           batch,
                                           seq_q,
                                           seq_k,
                                           heads,
                                           kv_heads,
                                           o_sb,
                                           o_ss,
                                           o_sh,
                                           {heads / kv_heads, o_sh, seq_q}};
  run<V, ORDER>(jobs, jobs.blocks(), counter, {scale, softcap, window}, q, k, v);
}

template <class T, int HEAD_DIM, int VALUE_DIM, int CONSUMERS, int BLOCK_N, int STAGES,
          int Q_STAGES, bool PINGPONG, SCHEDULE ORDER, int HEADS_AT_ONCE, int EXP_POLY,
          bool PACK_GQA, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    attention_varlen_wgmma(const __grid_constant__ mg::TensorMap q,
                           const __grid_constant__ mg::TensorMap k,
                           const __grid_constant__ mg::TensorMap v, const int* q_starts,
                           const int* k_starts, T* o, float* lse, mg::u32* counter, float scale,
                           float softcap, int sequences, int tokens_q, int max_q, int heads,
                           int kv_heads, int window, mg::i64 o_ss, mg::i64 o_sh) {
  using V = WgmmaVariant<T, HEAD_DIM, VALUE_DIM, CONSUMERS, BLOCK_N, STAGES, Q_STAGES, PINGPONG,
                         EXP_POLY, CAUSAL, WINDOWED, CAPPED, LSE, true, PACK_GQA>;
  const VarlenJobs<V, HEADS_AT_ONCE> jobs{
      q_starts, k_starts, o,        lse,  sequences, tokens_q,
      max_q,    heads,    kv_heads, o_ss, o_sh,      {heads / kv_heads, o_sh, tokens_q}};
  run<V, ORDER>(jobs, jobs.blocks(), counter, {scale, softcap, window}, q, k, v);
}
