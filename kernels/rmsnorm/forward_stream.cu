// rmsnorm.forward and rmsnorm.add_forward, design stream; forward.cu has the formulas
//
// Algorithm  A grid that stays: each block takes every gridDim.x-th row. Its warps cut a row into
//            pieces. The copy engine brings a warp's piece of a row into shared memory, STAGES rows
//            ahead; the warp takes it into registers, and what is free then is at once filled with
//            its piece of the row STAGES further on. So the loads of the next rows are on their way
//            while this one is added up and written: the memory never waits for a block that
//            begins. A warp waits for its own copies alone; one barrier a row adds the warps' sums.
// Traffic    reads rows * hidden elements of T (add_forward: twice that), writes rows * hidden
//            (twice), and 4 * rows bytes when rstd is wanted; weight once a block (early) or from
//            the caches (late)
// Work       4 * rows * hidden flops (5), 1 flop per byte or less: bound by memory.
// Tunables   THREADS        many: fewer registers a thread, wider rows; few: more blocks, whose
//                           barriers overlap
//            STAGES         rows of a block in shared memory or on their way there
//            BLOCKS_PER_SM  likewise, with barriers of their own; fewer registers a thread
//            STORE          how long the caches keep y and residual_out
//            WEIGHT         early: read once, held in registers; late: read for every row
//            PDL            starts while the grid before it ends and prefetches its first rows into
//                           L2 before it waits for it
// Numerics   as forward.cu's: fp32, y rounded once; a thread adds at most 64 squares, VEC at a
// time.

#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/row_norm.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using STORE = mg::Cache;

// What a variant fixes.
template <class T_, class W_, int kHidden_, int kThreads_, int kStages_, STORE kStore_,
          bool kEarly_, bool kPdl_>
struct StreamShape {
  using T = T_;
  using W = W_;
  static constexpr int kHidden = kHidden_, kThreads = kThreads_, kStages = kStages_;
  static constexpr STORE kStore = kStore_;
  static constexpr bool kEarly = kEarly_, kPdl = kPdl_;

  static constexpr int kVec = static_cast<int>(16 / sizeof(T));
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kPiece = (kHidden / kVec + kWarps - 1) / kWarps * kVec;  // of a warp
  static constexpr int kStep = 32 * kVec;  // columns that a warp covers at once
  static constexpr int kSteps = (kPiece + kStep - 1) / kStep;
  static constexpr bool kWhole = kHidden % (kWarps * kStep) == 0;  // no lane is ever idle

  static_assert(kHidden % kVec == 0, "pieces are copied in units of 16 bytes");
  static_assert(kSteps * kVec <= 64, "too much for one thread");
};

// Tensors of a launch; residual and residual_out are null in rmsnorm.forward.
template <class S>
struct StreamTensors {
  const typename S::T* x;
  const typename S::T* residual;
  const typename S::W* weight;
  typename S::T* y;
  typename S::T* residual_out;
  float* rstd;
  mg::i64 rows, x_stride;
};

// A warp's piece of the block's rows: where it lies, and how it comes.
template <class S, bool kAdd>
class Piece {
 public:
  using T = typename S::T;

  // `shared`: kStages rows of x, and of residual behind each. `arrived`: of every stage and warp.
  __device__ __forceinline__ Piece(const StreamTensors<S>& at, T* shared, mg::CopyBarrier* arrived)
      : at_(at),
        shared_(shared),
        arrived_(arrived + threadIdx.x / 32),
        first_(static_cast<int>(threadIdx.x) / 32 * S::kPiece),
        count_(S::kHidden - first_ < S::kPiece ? S::kHidden - first_ : S::kPiece) {
    if (count_ < 0) count_ = 0;
  }

  __device__ __forceinline__ void init_barriers() const {
#pragma unroll
    for (int stage = 0; stage < S::kStages; ++stage) mg::init(arrived_[stage * S::kWarps], 1);
    mg::publish_init();
  }

  __device__ __forceinline__ void prefetch(mg::i64 row) const {
    if (row >= at_.rows || count_ == 0) return;
    mg::bulk_prefetch_to_l2(at_.x + row * at_.x_stride + first_, bytes());
    if constexpr (kAdd) mg::bulk_prefetch_to_l2(at_.residual + row * S::kHidden + first_, bytes());
  }

  // By one lane.
  __device__ __forceinline__ void request(mg::i64 row, int stage) const {
    if (row >= at_.rows) return;
    mg::CopyBarrier& arrived = arrived_[stage * S::kWarps];
    mg::arrive_expecting(arrived, bytes() * (kAdd ? 2 : 1));
    if (count_ == 0) return;
    T* const to = shared_ + stage * kStageSize + first_;
    mg::bulk_load_once(to, at_.x + row * at_.x_stride + first_, bytes(), arrived);
    if constexpr (kAdd) {
      mg::bulk_load_once(to + S::kHidden, at_.residual + row * S::kHidden + first_, bytes(),
                         arrived);
    }
  }

  __device__ __forceinline__ void wait(int stage, unsigned int phase) const {
    mg::wait(arrived_[stage * S::kWarps], phase);
  }

  // Where the thread's vector of the row begins, in x and in residual.
  __device__ __forceinline__ const T* held(int stage, int column) const {
    return shared_ + stage * kStageSize + column;
  }

  // Calls visit(step, column) for each vector of the piece that this thread owns.
  template <class Visit>
  __device__ __forceinline__ void for_each_vector(const Visit& visit) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int step = 0; step < S::kSteps; ++step) {
      const int column = step * S::kStep + lane * S::kVec;
      if (S::kWhole || column < count_) visit(step, first_ + column);
    }
  }

 private:
  static constexpr int kStageSize = S::kHidden * (kAdd ? 2 : 1);

  __device__ __forceinline__ unsigned int bytes() const {
    return static_cast<unsigned int>(count_) * sizeof(T);
  }

  const StreamTensors<S>& at_;
  T* const shared_;
  mg::CopyBarrier* const arrived_;
  int first_, count_;  // columns
};

template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize_stream(const StreamTensors<S>& at, float eps,
                                                 float weight_offset) {
  using T = typename S::T;
  using W = typename S::W;
  constexpr int kVec = S::kVec;
  constexpr int kScratch = mg::sum_scratch_floats<S::kThreads, 1>();
  MG_SHARED(mg::CopyBarrier, arrived, [S::kStages * S::kWarps]);
  MG_SHARED(float, scratch, [2 * kScratch]);
  const Piece<S, kAdd> piece(at, mg::dynamic_shared<T>(), arrived);
  const bool leads = threadIdx.x % 32 == 0;

  if (leads) piece.init_barriers();
  if constexpr (S::kPdl) {
    mg::let_next_grid_start();
    if (leads) {
      for (int i = 0; i < S::kStages; ++i) piece.prefetch(blockIdx.x + i * gridDim.x);
    }
    mg::wait_for_previous_grid();
  }
  if (leads) {
    for (int i = 0; i < S::kStages; ++i) piece.request(blockIdx.x + i * gridDim.x, i);
  }
  mg::Pieces<W, kVec> weight[S::kEarly ? S::kSteps : 1];
  if constexpr (S::kEarly) {
    piece.for_each_vector(
        [&](int step, int column) { weight[step] = mg::load_pieces<kVec>(at.weight + column); });
  }
  __syncwarp();

  int stage = 0, turn = 0;
  unsigned int phase = 0;
  for (mg::i64 row = blockIdx.x; row < at.rows; row += gridDim.x) {
    mg::Vec<T, kVec> kept[S::kSteps];
    float squares = 0.0f;
    piece.wait(stage, phase);
    piece.for_each_vector([&](int step, int column) {
      kept[step] = mg::load<kVec>(piece.held(stage, column));
      if constexpr (kAdd) {
        kept[step] = mg::sum_of(kept[step], mg::load<kVec>(piece.held(stage, S::kHidden + column)));
      }
    });
    mg::publish_to_copies();
    __syncwarp();
    if (leads) piece.request(row + S::kStages * gridDim.x, stage);

    piece.for_each_vector([&](int step, int column) {
      if constexpr (kAdd) {
        mg::store_hinted<kVec, S::kStore>(at.residual_out + row * S::kHidden + column, kept[step]);
      }
      squares += mg::sum_of_squares(kept[step]);
    });
    // Two scratch areas in turn: one barrier a row is enough.
    const float total = mg::sum<S::kThreads>(squares, scratch + turn);
    turn = kScratch - turn;
    const float scale = mg::rsqrt(total * (1.0f / S::kHidden) + eps);
    const W* const weight_row = mg::read_each_time(at.weight);
    piece.for_each_vector([&](int step, int column) {
      mg::Pieces<W, kVec> w;
      if constexpr (S::kEarly) {
        w = weight[step];
      } else {
        w = mg::load_pieces<kVec>(weight_row + column);
      }
      mg::store_hinted<kVec, S::kStore>(at.y + row * S::kHidden + column,
                                        mg::scaled(kept[step], w, weight_offset, scale));
    });
    if constexpr (kHasRstd) {
      if (threadIdx.x == 0) at.rstd[row] = scale;
    }
    stage = stage == S::kStages - 1 ? 0 : stage + 1;
    if (stage == 0) phase ^= 1;
  }
}

template <class T, class W, int kHidden, int kThreads, int kStages, int kBlocksPerSm, STORE kStore,
          bool kEarly, bool kPdl, bool kHasRstd>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_forward_stream(const T* __restrict__ x, const W* __restrict__ weight, T* __restrict__ y,
                           float* __restrict__ rstd, mg::i64 rows, mg::i64 x_stride, float eps,
                           float weight_offset) {
  using S = StreamShape<T, W, kHidden, kThreads, kStages, kStore, kEarly, kPdl>;
  const StreamTensors<S> tensors{x, nullptr, weight, y, nullptr, rstd, rows, x_stride};
  normalize_stream<S, false, kHasRstd>(tensors, eps, weight_offset);
}

template <class T, class W, int kHidden, int kThreads, int kStages, int kBlocksPerSm, STORE kStore,
          bool kEarly, bool kPdl, bool kHasRstd>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_add_forward_stream(const T* __restrict__ x, const T* residual,
                               const W* __restrict__ weight, T* __restrict__ y, T* residual_out,
                               float* __restrict__ rstd, mg::i64 rows, mg::i64 x_stride, float eps,
                               float weight_offset) {
  using S = StreamShape<T, W, kHidden, kThreads, kStages, kStore, kEarly, kPdl>;
  const StreamTensors<S> tensors{x, residual, weight, y, residual_out, rstd, rows, x_stride};
  normalize_stream<S, true, kHasRstd>(tensors, eps, weight_offset);
}
