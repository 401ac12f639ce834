// The design wgmma of attention.prefill and attention.varlen, for GPUs of compute capability 9.0.
// prefill.cu has the formulas, the flags and the plain version.
//
// Algorithm  FlashAttention-3 (Shah and others, 2024). A block has one producing warpgroup and
//            CONSUMERS consuming ones. Each of these owns 64 queries of one head.
//            One thread of the producer lets the copy engine bring Q and the tiles of K and V, from
//            the last keys to the first, into rings of STAGES tiles. It waits for nobody but the
//            consumers that read a slot.
//            A consumer issues S = Q K^T of the next tile and O += P V of this tile, and computes
//            the softmax of the next tile while O += P V runs. Q, K and V are read from shared
//            memory; P stays in registers, because two accumulators are a word of an operand.
//            With PINGPONG the consumers take turns in issuing, so that the softmax of one runs
//            during the products of the other.
//            Tiles that every row of a warpgroup sees have no mask: the loop has three parts.
//            The softmax, scale and log2(e), and which tiles are loaded are those of prefill.cu.
//            In a packed batch the last tile of V can reach into the next sequence. P is 0 there,
//            but 0 * NaN is NaN, so the consumers overwrite these rows with zeros.
// Traffic    As prefill.cu, with 64 * CONSUMERS queries per read of K and V.
// Work       4 * queries * keys * head_dim flops per head, half of it if causal. wgmma does 4096
//            flops per SM and clock, about 800 TFLOP/s at the clocks that an H200's power allows.
//            Other work of a tile, as a share of the time of its products:
//              exponentials (16 per SM and clock): 1.0 at head_dim 64, 0.5 at 128, 0.25 at 256
//              the other instructions of the softmax, about six per score: 0.75, 0.38, 0.19
//            Expected on an H200 at 4,096 tokens, full: 480 TFLOP/s at head_dim 64, 600 to 660 at
//            128, 600 to 680 at 256; causal 10 to 15 % less.
// Tunables   CONSUMERS   The consuming warpgroups. Three share one read of K and V, but have 160
//                        registers each instead of 240.
//            BLOCK_N     The keys of a tile.
//            STAGES      The tiles of K, and of V, in shared memory.
//            PINGPONG    The consumers take turns in issuing products.
//            RESCALE     As in prefill.cu.
//            SCHEDULE    grid: a block has 64 * CONSUMERS rows. persistent: there is one block per
//                        SM, which goes on with further rows; the copies for these begin before
//                        the rows before them are done.
//            HEADS_AT_ONCE   As in prefill.cu.
// Numerics   Products are exact. Sums, softmax and O are fp32. P is rounded to T. The row sums, for
// o
//            and for lse, add P before it is rounded. o is rounded once. The parameters fix the
//            order of all sums.

#include <mg/shared.cuh>

#include "prefill_wgmma.cuh"

// The producer's work for one job: Q, and the tiles of K and V in the order of their use.
template <class V>
__device__ __forceinline__ void bring(const Job<typename V::T>& job, const Scaling& scaling,
                                      const Memory<V>& memory, const mg::TensorMap& q_map,
                                      const mg::TensorMap& k_map, const mg::TensorMap& v_map,
                                      Ring<1>& q, Ring<V::kStages>& k, Ring<V::kStages>& v) {
  const Tiles<V> tiles(job.rows, job.keys, job.first_row, scaling.window);
  if (tiles.count == 0) return;
  const auto bring_k = [&](int tile) {
    k.wait_until_empty();
    mg::arrive_expecting(k.full(), V::KV::kBytes);
    mg::tensor_load_kept(memory.k_tile(k.slot()), k_map, k.full(), 0, job.k_row + tiles.key(tile),
                         0, job.kv_head, job.batch);
    k.advance();
  };
  const auto bring_v = [&](int tile) {
    v.wait_until_empty();
    mg::arrive_expecting(v.full(), V::KV::kBytes);
    mg::tensor_load_kept(memory.v_tile(v.slot()), v_map, v.full(), 0, job.k_row + tiles.key(tile),
                         0, job.kv_head, job.batch);
    v.advance();
  };
  bring_k(0);
  q.wait_until_empty();
  mg::arrive_expecting(q.full(), V::Q::kBytes);
  mg::tensor_load_once(memory.q, q_map, q.full(), 0, job.q_row + job.first_row, 0, job.head,
                       job.batch);
  q.advance();
  for (int tile = 1; tile < tiles.count; ++tile) {
    bring_k(tile);
    bring_v(tile - 1);
  }
  bring_v(tiles.count - 1);
}

// Overwrites the rows of a tile of V that lie past the end of the keys. Every warpgroup does it for
// itself: all write the same zeros, so they need not wait for each other.
template <class V>
__device__ __forceinline__ void clear_tail(typename V::T* tile, int first_row) {
  if (first_row >= V::kKeys) return;
  constexpr int kPieces = V::kHeadDim / 8;
  const int pieces = (V::kKeys - first_row) * kPieces;
  for (int i = static_cast<int>(threadIdx.x % 128u); i < pieces; i += 128) {
    const mg::u32 offset = V::KV::offset(first_row + i / kPieces, i % kPieces * 8);
    *reinterpret_cast<uint4*>(reinterpret_cast<unsigned char*>(tile) + offset) = {0, 0, 0, 0};
  }
  mg::publish_to_wgmma();
  mg::sync_group<128>();
}

// A consuming warpgroup. All its threads call attend().
template <class V>
class Consumer {
 public:
  using T = typename V::T;

  __device__ __forceinline__ Consumer(const Memory<V>& memory, const Scaling& scaling, int number)
      : memory_(memory),
        window_(scaling.window),
        number_(number),
        turns_(number == 0 ? 1u : 0u),  // The first one begins.
        q_(memory.q_ring()),
        k_(memory.k_ring()),
        v_(memory.v_ring()),
        rows_(scaling, number) {}

  __device__ __forceinline__ void attend(const Job<T>& job) {
    const Tiles<V> tiles(job.rows, job.keys, job.first_row, window_);
    rows_.begin();
    if (tiles.count == 0) {
      rows_.write(job);
      return;
    }
    const int first_own = job.first_row + 64 * number_ + tiles.diagonal;
    q_.wait_until_full();
    k_.wait_until_full();
    rows_.issue_scores(memory_.q, memory_.k_tile(k_.slot()));
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

 private:
  // Whether some row of the warpgroup does not see some key of the tile that begins at `key`.
  __device__ __forceinline__ bool hides(const Job<T>& job, int key, int first_own) const {
    const int last = key + V::kKeys - 1;
    bool is_hidden = last >= job.keys;
    if constexpr (V::kCausal) is_hidden |= last > first_own;
    if constexpr (V::kWindowed && !V::kCausal) is_hidden |= last > first_own + window_;
    if constexpr (V::kWindowed) is_hidden |= key < first_own + 63 - window_;
    return is_hidden;
  }

  // The scores and the softmax of a tile, and the products of P and V of the tile before it.
  template <bool kMasked>
  __device__ __forceinline__ void follow(const Job<T>& job, int key, int first_own) {
    k_.wait_until_full();
    if constexpr (V::kPingpong) mg::wait(memory_.turn(number_), turns_++ & 1u);
    rows_.issue_scores(memory_.q, memory_.k_tile(k_.slot()));
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
  Ring<1> q_;
  Ring<V::kStages> k_, v_;
  WarpgroupRows<V> rows_;
};

// Runs the jobs of a block. Jobs is called as next(job) and says whether there is one more; every
// thread has its own.
template <class V, class Jobs>
__device__ __forceinline__ void run(Jobs jobs, const Scaling& scaling, const mg::TensorMap& q_map,
                                    const mg::TensorMap& k_map, const mg::TensorMap& v_map) {
  MG_SHARED(mg::CopyBarrier, barriers, [Memory<V>::kBarriers]);
  const Memory<V> memory(barriers);
  if (threadIdx.x == 0) {
    mg::prefetch(q_map);
    mg::prefetch(k_map);
    mg::prefetch(v_map);
    memory.init();
  }
  __syncthreads();
  Job<typename V::T> job;
  const int warpgroup = mg::warpgroup();
  if (warpgroup == 0) {
    if constexpr (V::kConsumers > 1) mg::shrink_registers<V::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    Ring<1> q = memory.q_ring();
    Ring<V::kStages> k = memory.k_ring(), v = memory.v_ring();
    while (jobs.next(job)) bring<V>(job, scaling, memory, q_map, k_map, v_map, q, k, v);
  } else {
    if constexpr (V::kConsumers > 1) mg::grow_registers<V::kConsumerRegisters>();
    Consumer<V> consumer(memory, scaling, warpgroup - 1);
    while (jobs.next(job)) consumer.attend(job);
  }
}

// The blocks of rows of attention.prefill, in the order of place_of_block().
template <class V, int HEADS_AT_ONCE>
struct PrefillJobs {
  using T = typename V::T;
  T* o;
  float* lse;
  int batch, seq_q, seq_k, heads, kv_heads;
  mg::i64 o_sb, o_ss, o_sh;
  int block;

  __device__ __forceinline__ bool next(Job<T>& job) {
    if (block >= (seq_q + V::kRows - 1) / V::kRows * batch * heads) return false;
    const Place place = place_of_block<V::kRows, HEADS_AT_ONCE>(block, seq_q, batch * heads);
    const int b = place.head / heads, head = place.head % heads;
    job = {place.first_row,
           seq_q,
           seq_k,
           0,
           0,
           head,
           head / (heads / kv_heads),
           b,
           o + b * o_sb + head * o_sh,
           V::kLse ? lse + mg::i64{place.head} * seq_q : nullptr,
           o_ss};
    block += static_cast<int>(gridDim.x);
    return true;
  }
};

template <class T, int HEAD_DIM, int CONSUMERS, int BLOCK_N, int STAGES, bool PINGPONG,
          RESCALE SCALING, int HEADS_AT_ONCE, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    attention_prefill_wgmma(const __grid_constant__ mg::TensorMap q,
                            const __grid_constant__ mg::TensorMap k,
                            const __grid_constant__ mg::TensorMap v, T* o, float* lse, float scale,
                            float softcap, int batch, int seq_q, int seq_k, int heads, int kv_heads,
                            int window, mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
  using V = WgmmaVariant<T, HEAD_DIM, CONSUMERS, BLOCK_N, STAGES, PINGPONG, SCALING, CAUSAL,
                         WINDOWED, CAPPED, LSE, false>;
  const PrefillJobs<V, HEADS_AT_ONCE> jobs{
      o, lse, batch, seq_q, seq_k, heads, kv_heads, o_sb, o_ss, o_sh, static_cast<int>(blockIdx.x)};
  run<V>(jobs, {scale, softcap, window}, q, k, v);
}

// The blocks of rows of attention.varlen. The grid has room for max_q rows per sequence. If a
// sequence is longer, its blocks take further rows: in each turn they move on by these.
template <class V, int HEADS_AT_ONCE>
struct VarlenJobs {
  using T = typename V::T;
  const int *q_starts, *k_starts;
  T* o;
  float* lse;
  int sequences, tokens_q, max_q, heads, kv_heads;
  mg::i64 o_ss, o_sh;
  int block, passed;

  __device__ __forceinline__ bool next(Job<T>& job) {
    const int row_blocks = (max_q + V::kRows - 1) / V::kRows;
    for (; block < row_blocks * sequences * heads; block += static_cast<int>(gridDim.x)) {
      const Place place = place_of_block<V::kRows, HEADS_AT_ONCE>(block, max_q, sequences * heads);
      const int s = place.head / heads, head = place.head % heads;
      const int q_start = q_starts[s], k_start = k_starts[s];
      const int rows = q_starts[s + 1] - q_start, first_row = place.first_row + passed;
      if (first_row < rows) {
        job = {first_row,
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
        passed += row_blocks * V::kRows;
        return true;
      }
      passed = 0;
    }
    return false;
  }
};

template <class T, int HEAD_DIM, int CONSUMERS, int BLOCK_N, int STAGES, bool PINGPONG,
          RESCALE SCALING, int HEADS_AT_ONCE, bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    attention_varlen_wgmma(const __grid_constant__ mg::TensorMap q,
                           const __grid_constant__ mg::TensorMap k,
                           const __grid_constant__ mg::TensorMap v, const int* q_starts,
                           const int* k_starts, T* o, float* lse, float scale, float softcap,
                           int sequences, int tokens_q, int max_q, int heads, int kv_heads,
                           int window, mg::i64 o_ss, mg::i64 o_sh) {
  using V = WgmmaVariant<T, HEAD_DIM, CONSUMERS, BLOCK_N, STAGES, PINGPONG, SCALING, CAUSAL,
                         WINDOWED, CAPPED, LSE, true>;
  const VarlenJobs<V, HEADS_AT_ONCE> jobs{q_starts,  k_starts, o,     lse,
                                          sequences, tokens_q, max_q, heads,
                                          kv_heads,  o_ss,     o_sh,  static_cast<int>(blockIdx.x),
                                          0};
  run<V>(jobs, {scale, softcap, window}, q, k, v);
}
