// The parts of the design wgmma of attention.prefill and attention.varlen: the constants of a
// variant, the order of the work, the rings of tiles in shared memory, and the rows of a
// warpgroup. prefill_wgmma.cu explains the algorithm.

#pragma once

#include <mg/attention_rows.cuh>
#include <mg/bulk_copy.cuh>
#include <mg/copy_ring.cuh>
#include <mg/exp2_polynomial.cuh>
#include <mg/group_sum.cuh>
#include <mg/math.cuh>
#include <mg/panel_tile.cuh>
#include <mg/store_row.cuh>
#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/warpgroup.cuh>
#include <mg/wgmma.cuh>

#include "head_group.cuh"
#include "prefill_tiles.cuh"

// The constants of a variant.
template <class T_, int HEAD_DIM, int VALUE_DIM, int CONSUMERS, int BLOCK_N, int STAGES,
          int Q_STAGES, bool PINGPONG, int EXP_POLY, bool CAUSAL, bool WINDOWED, bool CAPPED,
          bool LSE, bool PACKED, bool PACK_GQA>
struct WgmmaVariant {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kValueDim = VALUE_DIM, kConsumers = CONSUMERS;
  static constexpr int kStages = STAGES, kQStages = Q_STAGES;
  static constexpr int kRows = 64 * CONSUMERS, kKeys = BLOCK_N;
  static constexpr bool kPingpong = PINGPONG;
  static constexpr bool kCausal = CAUSAL, kWindowed = WINDOWED, kCapped = CAPPED, kLse = LSE;
  static constexpr bool kPacked = PACKED;  // other sequences lie before and after the keys
  static constexpr bool kPacksHeads = PACK_GQA;
  static_assert(CONSUMERS >= 1 && CONSUMERS <= 3 && BLOCK_N % 16 == 0, "whole fragments");

  // Which of a thread's exponentials are polynomials: EXP_POLY of 8, spread evenly.
  __device__ __forceinline__ static constexpr bool is_polynomial(int i) {
    return i * EXP_POLY % 8 < EXP_POLY;
  }

  using Group = HeadGroup<PACK_GQA, kRows>;
  using Q = mg::PanelTile<T, kRows, HEAD_DIM>;
  using K = mg::PanelTile<T, BLOCK_N, HEAD_DIM>;
  using Values = mg::PanelTile<T, BLOCK_N, VALUE_DIM>;
  static_assert(Q::kBytes % 1024 == 0 && K::kBytes % 1024 == 0 && Values::kBytes % 1024 == 0,
                "tiles follow each other");

  // The registers per thread: the producer gives up registers, the consumers take them. With one
  // consumer there are enough for all.
  static constexpr int kProducerRegisters = CONSUMERS == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = CONSUMERS == 3 ? 160 : 232;
};

// The rows that a block computes, of one head or of a group of heads that begins with `head`. If
// there are no rows, there are no more jobs.
template <class T>
struct Job {
  int first_row, rows, keys;
  int q_row, k_row, head, kv_head, batch;  // where the sequence begins in the tensor maps
  T* o;
  float* lse;
  mg::i64 o_stride;
};

// The shared memory of a block.
template <class V>
struct Memory {
  using T = typename V::T;
  static constexpr int kRings = 2 * V::kQStages + 4 * V::kStages;  // barriers of the rings
  static constexpr int kBarriers = kRings + V::kConsumers;

  T* q;          // kQStages tiles
  T* k;          // kStages tiles
  T* v;          // likewise
  Job<T>* jobs;  // each is written and freed together with its q
  mg::CopyBarrier* barriers;

  __device__ __forceinline__ Memory(Job<T>* jobs, mg::CopyBarrier* barriers)
      : q(mg::dynamic_shared<T>()),
        k(q + V::kQStages * V::Q::kBytes / 2),
        v(k + V::kStages * V::K::kBytes / 2),
        jobs(jobs),
        barriers(barriers) {}

  __device__ __forceinline__ T* q_tile(int slot) const { return q + slot * (V::Q::kBytes / 2); }
  __device__ __forceinline__ T* k_tile(int slot) const { return k + slot * (V::K::kBytes / 2); }
  __device__ __forceinline__ T* v_tile(int slot) const {
    return v + slot * (V::Values::kBytes / 2);
  }

  // The `full` barriers of all rings come first, then the `empty` ones.
  __device__ __forceinline__ mg::CopyRing<V::kQStages> q_ring() const {
    return ring<V::kQStages>(0);
  }
  __device__ __forceinline__ mg::CopyRing<V::kStages> k_ring() const {
    return ring<V::kStages>(V::kQStages);
  }
  __device__ __forceinline__ mg::CopyRing<V::kStages> v_ring() const {
    return ring<V::kStages>(V::kQStages + V::kStages);
  }
  // Completes when the warpgroup before this one has issued its products.
  __device__ __forceinline__ mg::CopyBarrier& turn(int consumer) const {
    return barriers[kRings + consumer];
  }

  // One thread calls it.
  __device__ __forceinline__ void init() const {
    constexpr mg::u32 kWarps = 4 * V::kConsumers;
    for (int i = 0; i < kBarriers; ++i) {
      const mg::u32 arrivals = i >= kRings ? 4u : i < kRings / 2 ? 1u : kWarps;
      mg::init(barriers[i], arrivals);
    }
    mg::publish_init();
  }

 private:
  template <int kSlots>
  __device__ __forceinline__ mg::CopyRing<kSlots> ring(int first) const {
    return {barriers + first, barriers + kRings / 2 + first};
  }
};

// The 64 rows of a consumer warpgroup. The scores, P and O are in its registers, as <mg/wgmma.cuh>
// lays out accumulators: a thread has two rows. All threads of the warpgroup call every function.
template <class V>
class WarpgroupRows {
 public:
  using T = typename V::T;

  __device__ __forceinline__ WarpgroupRows(const Scaling& scaling, const typename V::Group& group,
                                           int consumer)
      : scaling_(scaling),
        first_row_(64 * consumer),
        factor_(V::kCapped ? 1.0f : scaling.scale * mg::kLog2E),
        group_(group) {
    if constexpr (V::kPacksHeads) {
#pragma unroll
      for (int r = 0; r < 2; ++r) queries_after_first_[r] = queries_to(own_row(r));
    }
  }

  // The query of row 0 of the 64 in the tile, and how many queries after it that of `row` comes.
  __device__ __forceinline__ int first_query() const { return group_.query(first_row_); }
  __device__ __forceinline__ int queries_to(int row) const {
    return V::kPacksHeads ? group_.query(first_row_ + row) - first_query() : row;
  }

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < V::kValueDim / 2; ++i) o_[i] = 0.0f;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      max_[r] = -mg::infinity();
      sum_[r] = 0.0f;
    }
  }

  // Each of these functions issues one group of products.
  __device__ __forceinline__ void issue_scores(const T* q, const T* k) {
    mg::wgmma_fence(s_);
#pragma unroll
    for (int step = 0; step < V::kHeadDim / 16; ++step) {
      mg::wgmma<T, V::kKeys>(s_, mg::k_major<typename V::Q>(q, first_row_, step),
                             mg::k_major<typename V::K>(k, 0, step), step > 0);
    }
    mg::wgmma_commit();
  }
  __device__ __forceinline__ void issue_output(const T* v) {
    mg::wgmma_fence(o_, p_);
#pragma unroll
    for (int step = 0; step < V::kKeys / 16; ++step) {
      const mg::u32(&p)[4] = *reinterpret_cast<const mg::u32(*)[4]>(p_ + 4 * step);
      mg::wgmma<T, V::kValueDim>(o_, p, mg::mn_major<typename V::Values>(v, step), true);
    }
    mg::wgmma_commit();
  }

  // kLater groups were issued after the scores.
  template <int kLater>
  __device__ __forceinline__ void wait_for_scores() {
    mg::wgmma_wait<kLater>(s_);
  }
  __device__ __forceinline__ void wait_for_output() { mg::wgmma_wait<0>(o_); }

  // Turns the scores into exponentials, and adds these to the sums. rescale() rescales O later,
  // because a product may still be writing O.
  template <bool kMasked>
  __device__ __forceinline__ void softmax(int own_key, int key0, int keys) {
    cap();
    if constexpr (kMasked) mask(own_key, key0, keys);
    float highest[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float x = s_[2 * r];
#pragma unroll
      for (int j = 0; j < V::kKeys / 8; ++j) {
        x = fmaxf(x, fmaxf(s_[4 * j + 2 * r], s_[4 * j + 2 * r + 1]));
      }
      highest[r] = mg::quad_max(x);
    }
    rises_ = __any_sync(0xffffffffu, rises_enough(highest[0], 0) || rises_enough(highest[1], 1));
    if (rises_) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float before = max_[r];
        max_[r] = fmaxf(before, highest[r]);
        shrink_[r] = mg::exp2_approx(before * factor_ - base(r));
        sum_[r] *= shrink_[r];
      }
    }
    const float bases[2] = {base(0), base(1)};
#pragma unroll
    for (int i = 0; i < V::kKeys / 2; ++i) {
      const float exponent = s_[i] * factor_ - bases[i % 4 / 2];
      s_[i] = V::is_polynomial(i) ? mg::exp2_polynomial(exponent) : mg::exp2_approx(exponent);
      sum_[i % 4 / 2] += s_[i];
    }
  }

  // Rounds the exponentials to P. No product may read P any more.
  __device__ __forceinline__ void pack() {
#pragma unroll
    for (int i = 0; i < V::kKeys / 4; ++i) p_[i] = mg::pack<T>(s_[2 * i], s_[2 * i + 1]);
  }

  __device__ __forceinline__ void rescale() {
    if (!rises_) return;
#pragma unroll
    for (int i = 0; i < V::kValueDim / 2; ++i) o_[i] *= shrink_[i % 4 / 2];
  }

  // Stores O and lse.
  __device__ __forceinline__ void write(const Job<T>& job) {
    const int lane = static_cast<int>(threadIdx.x % 32u);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row_ + own_row(r), head = group_.head(row);
      const int query = job.first_row + group_.query(row);
      const float sum = mg::quad_sum(sum_[r]);
      const float share = mg::share_of(sum);
      if (V::kLse && lane % 4 == 0 && query < end_of(job, row)) {
        job.lse[head * group_.lse_stride + query] =
            sum == 0.0f ? -mg::infinity() : max_[r] * factor_ * mg::kLn2 + logf(sum);
      }
      mg::store_row<T, V::kValueDim>(o_, r, share,
                                     job.o + query * job.o_stride + head * group_.o_stride,
                                     query < end_of(job, row));
    }
  }

  // The end of the queries that a row of the tile can have. It is 0 for a row that is not used.
  __device__ __forceinline__ int end_of(const Job<T>& job, int row) const {
    return group_.uses(row) ? job.rows : 0;
  }

  // One of this thread's two rows among the 64.
  __device__ __forceinline__ static int own_row(int r) {
    return static_cast<int>(threadIdx.x / 32u % 4u * 16u + threadIdx.x % 32u / 4u) + 8 * r;
  }

 private:
  __device__ __forceinline__ bool rises_enough(float highest, int r) const {
    return highest * factor_ > max_[r] * factor_ + mg::kLazyRescaleBits;
  }

  // The number that exponents are relative to. A row that has seen no key has the base 0.
  __device__ __forceinline__ float base(int r) const {
    return max_[r] == -mg::infinity() ? 0.0f : max_[r] * factor_;
  }

  // Applies the softcap, as mg::AttentionRows does. The capped logits are exponents of 2.
  __device__ __forceinline__ void cap() {
    if constexpr (V::kCapped) {
      const float inner = 2.0f * mg::kLog2E * scaling_.scale / scaling_.softcap;
      const float outer = scaling_.softcap * mg::kLog2E;
#pragma unroll
      for (int i = 0; i < V::kKeys / 2; ++i) {
        s_[i] = outer - 2.0f * outer * mg::reciprocal_approx(mg::exp2_approx(s_[i] * inner) + 1.0f);
      }
    }
  }

  // `own_key` is the key at the position of the query of row 0 of the 64.
  __device__ __forceinline__ void mask(int own_key, int key0, int keys) {
    const int column = key0 + 2 * static_cast<int>(threadIdx.x % 4u);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int own = own_key + (V::kPacksHeads ? queries_after_first_[r] : own_row(r));
      int last = keys - 1;
      if constexpr (V::kCausal) last = minimum(last, own);
      if constexpr (V::kWindowed && !V::kCausal) last = minimum(last, own + scaling_.window);
#pragma unroll
      for (int j = 0; j < V::kKeys / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int key = column + 8 * j + c;
          if (key > last || (V::kWindowed && key < own - scaling_.window)) {
            s_[4 * j + 2 * r + c] = -mg::infinity();
          }
        }
      }
    }
  }

  Scaling scaling_;
  int first_row_;
  float factor_;             // turns scores into exponents of 2
  float s_[V::kKeys / 2];    // scores, then exponentials
  mg::u32 p_[V::kKeys / 4];  // exponentials as T: four words per 16 keys
  float o_[V::kValueDim / 2];
  float max_[2], sum_[2];  // sums over this lane's keys
  float shrink_[2];        // the factors for O, if rises_
  bool rises_ = false;     // the same in all lanes of a warp
  typename V::Group group_;
  int queries_after_first_[2];  // queries_to() of this thread's rows, with kPacksHeads
};
