// The rows of a gradient of attention that a warpgroup owns, computed with wgmma. This is the part
// of the design wgmma of attention.backward that computes. backward_rows.cuh does the same for a
// warp with mma.sync, and says what the own rows and the tiles hold.
//
//   WarpgroupGradients<V> gradients(problem, number);     number: of the warpgroup in the block
//   gradients.begin(job);                                 sums = 0
//   gradients.issue_logits(memory, slot);                 s = own 0 * tile 0^T
//   gradients.issue_dp(memory, slot);                     dp = own 1 * tile 1^T
//   gradients.wait_for_logits<1>();                       1 group of products was issued since
//   gradients.exponentiate(job, memory, slot, column);    p = 2^(factor * s - figure)
//   gradients.issue_value_sums(memory, slot);             value sums += p * tile 1, own keys only
//   gradients.wait_for_dp<1>();
//   gradients.differentiate(memory, slot);                ds = p * (dp - figure)
//   gradients.issue_sums(memory, slot);                   sums += ds * tile 0
//   gradients.wait_for_sums<0>();
//   gradients.write_sums(job, factor, to, stride);
//
// p and ds go from registers into the next products without shared memory: two neighbouring
// accumulators, rounded, are one word of an operand. Numerics: products are exact, sums are fp32. p
// and ds are rounded to T.

#pragma once

#include <mg/attention_rows.cuh>
#include <mg/bulk_copy.cuh>
#include <mg/copy_ring.cuh>
#include <mg/math.cuh>
#include <mg/panel_tile.cuh>
#include <mg/shared.cuh>
#include <mg/store_row.cuh>
#include <mg/types.cuh>
#include <mg/wgmma.cuh>

using mg::maximum;
using mg::minimum;

// Whether the rows of a block are keys or queries. The rows of the tiles are the other kind.
enum class OWN { keys, queries };

// The constants of a pass. A block owns 64 * CONSUMERS rows of two matrices. Tiles of COLUMNS rows
// of the other two matrices pass by, through STAGES slots. The rows of a tile are the columns of S
// and dP.
template <class T_, int HEAD_DIM, OWN kOwn, int CONSUMERS, int COLUMNS, int STAGES, bool CAUSAL>
struct WgmmaPass {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kConsumers = CONSUMERS, kStages = STAGES;
  static constexpr int kRows = 64 * CONSUMERS, kColumns = COLUMNS;
  static constexpr bool kOwnsKeys = kOwn == OWN::keys, kCausal = CAUSAL;
  static_assert(CONSUMERS >= 2 && CONSUMERS <= 3 && COLUMNS % 16 == 0, "whole fragments");

  using Own = mg::PanelTile<T, kRows, HEAD_DIM>;
  using Tile = mg::PanelTile<T, COLUMNS, HEAD_DIM>;
  // The figures of a tile arrive with it if its rows are queries.
  static constexpr int kFigures = kOwnsKeys ? COLUMNS : 0;
  static constexpr int kSlotBytes = 2 * Tile::kBytes + 8 * kFigures;

  // The registers per thread. The producer gives up registers, and the consumers take them.
  static constexpr int kProducerRegisters = CONSUMERS == 3 ? 32 : 24;
  static constexpr int kConsumerRegisters = CONSUMERS == 3 ? 160 : 240;
};

// The problem. backward_figures.cuh computes logarithms and deltas.
struct BackwardProblem {
  const float *logarithms, *deltas;
  float scale;
  int batch, seq_q, seq_k, padded_q, heads, kv_heads;
  int group;  // heads / kv_heads

  // Query i sees key i + diagonal and those before it, if attention is causal.
  __device__ __forceinline__ int diagonal() const { return seq_k - seq_q; }
  __device__ __forceinline__ mg::i64 figure(int b, int head, int query) const {
    const mg::u64 before = static_cast<mg::u32>(b * heads + head);
    return static_cast<mg::i64>(before * static_cast<mg::u32>(padded_q)) + query;
  }
};

// What a block computes at once: its rows of one head, and the tiles that any of them sees. In each
// head from `head` to `last_head`, the tiles begin at rows first, first + kColumns, ..., below
// `end`.
struct BackwardJob {
  int batch, own_head, own_row;
  int head, last_head, first, end;
};

// The shared memory of a block: its own rows of two matrices, the slots of two tiles each, and
// after all slots the two figures of each row of each tile.
template <class V>
struct WgmmaMemory {
  using T = typename V::T;
  static constexpr int kBarriers = 2 + 2 * V::kStages;
  static constexpr int kOwn = V::Own::kBytes / 2, kTile = V::Tile::kBytes / 2;

  T* const memory = mg::dynamic_shared<T>();
  mg::CopyBarrier* const barriers;
  BackwardJob* const job;  // written and freed together with the own rows

  __device__ __forceinline__ WgmmaMemory(mg::CopyBarrier* barriers, BackwardJob* job)
      : barriers(barriers), job(job) {}

  __device__ __forceinline__ T* own(int matrix) const { return memory + matrix * kOwn; }
  __device__ __forceinline__ T* tile(int slot, int matrix) const {
    return memory + 2 * kOwn + (2 * slot + matrix) * kTile;
  }
  __device__ __forceinline__ float* figures(int slot, int which) const {
    return reinterpret_cast<float*>(tile(V::kStages, 0)) + (2 * slot + which) * V::kFigures;
  }

  // The `full` barriers of both rings come first, then the `empty` ones.
  __device__ __forceinline__ mg::CopyRing<1> own_ring() const {
    return {barriers, barriers + kBarriers / 2};
  }
  __device__ __forceinline__ mg::CopyRing<V::kStages> ring() const {
    return {barriers + 1, barriers + kBarriers / 2 + 1};
  }

  // One thread calls it.
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < kBarriers; ++i) {
      mg::init(barriers[i], i < kBarriers / 2 ? 1u : mg::u32{4 * V::kConsumers});
    }
    mg::publish_init();
  }
};

// The 64 rows of a consumer warpgroup. S, dP and the sums are in its registers, as <mg/wgmma.cuh>
// lays out accumulators: a thread has two rows. All threads of the warpgroup call every function.
template <class V>
class WarpgroupGradients {
 public:
  using T = typename V::T;

  __device__ __forceinline__ WarpgroupGradients(const BackwardProblem& problem, int number)
      : problem_(problem), factor_(problem.scale * mg::kLog2E), row_in_block_(64 * number) {}

  __device__ __forceinline__ void begin(const BackwardJob& job) {
#pragma unroll
    for (int i = 0; i < V::kHeadDim / 2; ++i) {
      sums_[i] = 0.0f;
      if constexpr (V::kOwnsKeys) value_sums_[i] = 0.0f;
    }
    if constexpr (!V::kOwnsKeys) {
      const mg::i64 figure = problem_.figure(job.batch, job.own_head, job.own_row + row_in_block_);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        own_logarithms_[r] = problem_.logarithms[figure + own_row(r)];
        own_deltas_[r] = problem_.deltas[figure + own_row(r)];
      }
    }
  }

  // Whether no row sees anything of the tile that begins at `column`.
  __device__ __forceinline__ bool sees_nothing(const BackwardJob& job, int column) const {
    const int row0 = job.own_row + row_in_block_;
    if (row0 >= own_rows()) return true;
    if constexpr (!V::kCausal) return false;
    return V::kOwnsKeys ? row0 > column + V::kColumns - 1 + problem_.diagonal()
                        : column > row0 + 63 + problem_.diagonal();
  }

  // Each of these functions issues one group of products.
  __device__ __forceinline__ void issue_logits(const WgmmaMemory<V>& memory, int slot) {
    issue(memory.own(0), memory.tile(slot, 0), s_);
  }
  __device__ __forceinline__ void issue_dp(const WgmmaMemory<V>& memory, int slot) {
    issue(memory.own(1), memory.tile(slot, 1), dp_);
  }
  __device__ __forceinline__ void issue_value_sums(const WgmmaMemory<V>& memory, int slot) {
    add(p_, memory.tile(slot, 1), value_sums_);
  }
  __device__ __forceinline__ void issue_sums(const WgmmaMemory<V>& memory, int slot) {
    add(ds_, memory.tile(slot, 0), sums_);
  }

  // These wait for products after which kLater groups were issued.
  template <int kLater>
  __device__ __forceinline__ void wait_for_logits() {
    mg::wgmma_wait<kLater>(s_);
  }
  template <int kLater>
  __device__ __forceinline__ void wait_for_dp() {
    mg::wgmma_wait<kLater>(dp_);
  }
  template <int kLater>
  __device__ __forceinline__ void wait_for_sums() {
    mg::wgmma_wait<kLater>(sums_);
    if constexpr (V::kOwnsKeys) mg::wgmma_wait<kLater>(value_sums_);
  }

  // Turns the logits into probabilities, and rounds these if a product needs them.
  __device__ __forceinline__ void exponentiate(const BackwardJob& job, const WgmmaMemory<V>& memory,
                                               int slot, int column) {
    if (hides_some(job, column)) mask(job, column);
#pragma unroll
    for (int j = 0; j < V::kColumns / 8; ++j) {
      const Figures logarithms = figures(memory.figures(slot, 0), own_logarithms_, j);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& s = s_[4 * j + i];
        s = mg::exp2_approx(s * factor_ - logarithms.at(i));
      }
    }
    if constexpr (V::kOwnsKeys) pack(s_, p_);
  }

  // Computes the gradients of the logits, rounded.
  __device__ __forceinline__ void differentiate(const WgmmaMemory<V>& memory, int slot) {
#pragma unroll
    for (int j = 0; j < V::kColumns / 8; ++j) {
      const Figures deltas = figures(memory.figures(slot, 1), own_deltas_, j);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& dp = dp_[4 * j + i];
        dp = s_[4 * j + i] * (dp - deltas.at(i));
      }
    }
    pack(dp_, ds_);
  }

  // Stores the sums, times a factor, to rows of a matrix whose row 0 is at `to`.
  __device__ __forceinline__ void write_sums(const BackwardJob& job, float factor, T* to,
                                             mg::i64 stride) const {
    write(job, sums_, factor, to, stride);
  }
  __device__ __forceinline__ void write_value_sums(const BackwardJob& job, T* to,
                                                   mg::i64 stride) const {
    write(job, value_sums_, 1.0f, to, stride);
  }

 private:
  // The two figures that accumulators 4 * j to 4 * j + 3 need: those of two rows or two columns.
  struct Figures {
    float two[2];
    __device__ __forceinline__ float at(int i) const { return two[V::kOwnsKeys ? i % 2 : i / 2]; }
  };
  __device__ __forceinline__ static Figures figures(const float* of_columns,
                                                    const float (&of_rows)[2], int j) {
    if constexpr (V::kOwnsKeys) {
      const auto two = *reinterpret_cast<const float2*>(of_columns + 8 * j + own_column());
      return {{two.x, two.y}};
    } else {
      return {{of_rows[0], of_rows[1]}};
    }
  }

  __device__ __forceinline__ int own_rows() const {
    return V::kOwnsKeys ? problem_.seq_k : problem_.seq_q;
  }

  // One of this thread's two rows among the 64, and the first of its two columns among 8.
  __device__ __forceinline__ static int own_row(int r) {
    return static_cast<int>(threadIdx.x / 32u % 4u * 16u + threadIdx.x % 32u / 4u) + 8 * r;
  }
  __device__ __forceinline__ static int own_column() {
    return 2 * static_cast<int>(threadIdx.x % 4u);
  }

  __device__ __forceinline__ void issue(const T* own, const T* tile, float (&d)[V::kColumns / 2]) {
    mg::forget(d);
    mg::wgmma_fence(d);
#pragma unroll
    for (int step = 0; step < V::kHeadDim / 16; ++step) {
      mg::wgmma<T, V::kColumns>(d, mg::k_major<typename V::Own>(own, row_in_block_, step),
                                mg::k_major<typename V::Tile>(tile, 0, step), step > 0);
    }
    mg::wgmma_commit();
  }

  __device__ __forceinline__ void add(mg::u32 (&factors)[V::kColumns / 4], const T* tile,
                                      float (&sums)[V::kHeadDim / 2]) {
    mg::wgmma_fence(sums, factors);
#pragma unroll
    for (int step = 0; step < V::kColumns / 16; ++step) {
      const mg::u32(&a)[4] = *reinterpret_cast<const mg::u32(*)[4]>(factors + 4 * step);
      mg::wgmma<T, V::kHeadDim>(sums, a, mg::mn_major<typename V::Tile>(tile, step), true);
    }
    mg::wgmma_commit();
  }

  __device__ __forceinline__ static void pack(const float (&from)[V::kColumns / 2],
                                              mg::u32 (&to)[V::kColumns / 4]) {
#pragma unroll
    for (int i = 0; i < V::kColumns / 4; ++i) to[i] = mg::pack<T>(from[2 * i], from[2 * i + 1]);
  }

  // Whether some row does not see some row of the tile. Queries past the last one need no mask.
  __device__ __forceinline__ bool hides_some(const BackwardJob& job, int column) const {
    const int row0 = job.own_row + row_in_block_, last = column + V::kColumns - 1;
    if constexpr (V::kOwnsKeys) return V::kCausal && row0 + 63 > column + problem_.diagonal();
    return last >= problem_.seq_k || (V::kCausal && last > row0 + problem_.diagonal());
  }

  __device__ __forceinline__ void mask(const BackwardJob& job, int column) {
    const int column0 = column + own_column(), diagonal = problem_.diagonal();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = job.own_row + row_in_block_ + own_row(r);
      // A key is seen by the queries from `first` on. A query sees the keys up to `last`.
      const int first = row - diagonal - column0;
      int last = problem_.seq_k - 1;
      if constexpr (V::kCausal) last = minimum(last, row + diagonal);
      last -= column0;
#pragma unroll
      for (int j = 0; j < V::kColumns / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const bool is_hidden = V::kOwnsKeys ? 8 * j + c < first : 8 * j + c > last;
          if (is_hidden) s_[4 * j + 2 * r + c] = -mg::infinity();
        }
      }
    }
  }

  __device__ __forceinline__ void write(const BackwardJob& job,
                                        const float (&sums)[V::kHeadDim / 2], float factor, T* to,
                                        mg::i64 stride) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = job.own_row + row_in_block_ + own_row(r);
      mg::store_row<T, V::kHeadDim>(sums, r, factor, to + row * stride, row < own_rows());
    }
  }

  const BackwardProblem& problem_;
  float factor_;                                      // turns logits into exponents of 2
  int row_in_block_;                                  // row 0 of the 64 in the block
  float own_logarithms_[2], own_deltas_[2];           // if the rows are queries
  float s_[V::kColumns / 2];                          // logits, then probabilities
  float dp_[V::kColumns / 2];                         // gradients of probabilities, then of logits
  mg::u32 p_[V::kColumns / 4], ds_[V::kColumns / 4];  // as T: four words per 16 columns
  float sums_[V::kHeadDim / 2];                       // dS times the first matrix of the tiles
  float value_sums_[V::kHeadDim / 2];                 // P times the second, if the rows are keys
};
