// rmsnorm.forward and rmsnorm.add_forward, design stream. The formulas are in forward.cu.
//
// The plain version: a fixed number of blocks, and each takes row after row. So the next row can be
// loaded early.
//
//   __global__ void rmsnorm(const T* x, const T* weight, T* y, int rows, int hidden, float eps) {
//     __shared__ T next[hidden];
//     load(next, x + blockIdx.x * hidden);           // the first row of the block
//     for (int row = blockIdx.x; row < rows; row += gridDim.x) {
//       T mine[kSteps] = my_part_of(next);           // shared memory -> registers
//       __syncthreads();
//       load(next, x + (row + gridDim.x) * hidden);  // in flight while this row is computed
//       float scale = rsqrt(block_sum(squares(mine)) / hidden + eps);
//       write(y + row * hidden, mine, scale, weight);
//     }
//   }
//
// Algorithm  Each block takes every gridDim.x-th row, and its warps cut a row into pieces.
//            The copy engine brings a warp's piece into shared memory, STAGES rows ahead. Its lines
//            leave L2 last (<mg/cache_hint.cuh>, kept).
//            The warp takes its piece into registers. The free place is filled at once with the
//            warp's piece of the row that is STAGES rows further on.
//            So the next rows are loaded while this row is added up and written. The memory never
//            waits for a block to start.
//            A warp waits only for its own copies, which saves a barrier. One barrier per row adds
//            the warps' sums.
//            The blocks of a cluster share a row, one slice per block, and send each other their
//            sums. Then several rows fit where a whole row would fill the shared memory of a block,
//            and the weights fit into registers.
// Traffic    It reads rows * hidden elements of T (add_forward: twice as many), and writes as many.
//            It writes 4 * rows bytes more if rstd is wanted. weight is read once per block (early)
//            or from the caches for every row (late).
// Work       4 * rows * hidden flops (add_forward: 5), 1 flop per byte or less. The kernel is bound
//            by memory.
// Tunables   THREADS        More threads need fewer registers each and hold wider rows. With fewer
//                           threads there are more blocks, whose barriers overlap.
//            STAGES         The rows of a block that are in shared memory or on their way to it.
//            HOLD           registers: the place of a row is filled again at once. in_place: the
//                           row stays in shared memory, and is written while the next row's sum is
//                           computed.
//            CLUSTER        The blocks that share a row. More rows are in flight, and weights fit
//                           into registers.
//            BLOCKS_PER_SM  More rows are in flight, and each block has its own barriers. A thread
//                           gets fewer registers.
//            STORE          How long the caches keep y and residual_out.
//            WEIGHT         early: weight is read once and held in registers. late: weight is read
//                           for every row.
//            PDL            The grid starts while the grid before it ends, and prefetches its first
//                           rows into L2 before it waits for that grid.
// Numerics   As in forward.cu: fp32, and y is rounded once. A thread adds at most 64 squares, VEC
//            at a time.

#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/cluster_sums.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/row_norm.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using STORE = mg::Cache;
enum class HOLD { registers, in_place };

// The constants of a variant.
template <class T_, class W_, int kHidden_, int kCluster_, int kThreads_, int kStages_, HOLD kHold_,
          STORE kStore_, bool kEarly_, bool kPdl_>
struct StreamShape {
  using T = T_;
  using W = W_;
  static constexpr int kHidden = kHidden_, kCluster = kCluster_, kThreads = kThreads_,
                       kStages = kStages_;
  static constexpr HOLD kHold = kHold_;
  static constexpr STORE kStore = kStore_;
  static constexpr bool kEarly = kEarly_, kPdl = kPdl_;

  static constexpr int kVec = static_cast<int>(16 / sizeof(T));
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kSlice = kHidden / kCluster;                            // of a block
  static constexpr int kPiece = (kSlice / kVec + kWarps - 1) / kWarps * kVec;  // of a warp
  static constexpr int kStep = 32 * kVec;  // columns that a warp covers at once
  static constexpr int kSteps = (kPiece + kStep - 1) / kStep;
  static constexpr bool kWhole = kSlice % (kWarps * kStep) == 0;  // no lane is ever idle

  static_assert(kHidden % (kCluster * kVec) == 0, "pieces are copied in units of 16 bytes");
  static_assert(kSteps * kVec <= 64, "too much for one thread");
  static_assert(kHold == HOLD::registers || kStages >= 3, "two rows are held, others on their way");
};

// The tensors of a launch. residual and residual_out are null in rmsnorm.forward.
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

// A warp's piece of each slice of its block: where it lies, and how it is copied. Columns count
// from the start of the slice.
template <class S, bool kAdd>
class Piece {
 public:
  using T = typename S::T;

  // `shared` holds kStages slices of x; with kAdd a slice of residual follows each of them.
  // `arrived` holds one barrier per stage and warp.
  __device__ __forceinline__ Piece(const StreamTensors<S>& at, T* shared, mg::CopyBarrier* arrived)
      : at_(at),
        shared_(shared),
        arrived_(arrived + threadIdx.x / 32),
        first_(static_cast<int>(threadIdx.x) / 32 * S::kPiece),
        count_(S::kSlice - first_ < S::kPiece ? S::kSlice - first_ : S::kPiece) {
    if (count_ < 0) count_ = 0;
    if constexpr (S::kCluster > 1) slice_ = static_cast<int>(mg::cluster_rank()) * S::kSlice;
  }

  // The column of the row at which the slice begins.
  __device__ __forceinline__ int slice() const { return S::kCluster > 1 ? slice_ : 0; }

  __device__ __forceinline__ void init_barriers() const {
#pragma unroll
    for (int stage = 0; stage < S::kStages; ++stage) mg::init(arrived_[stage * S::kWarps], 1);
    mg::publish_init();
  }

  __device__ __forceinline__ void prefetch(mg::i64 row) const {
    if (row >= at_.rows || count_ == 0) return;
    const int from = slice() + first_;
    mg::bulk_prefetch_to_l2(at_.x + row * at_.x_stride + from, bytes());
    if constexpr (kAdd) mg::bulk_prefetch_to_l2(at_.residual + row * S::kHidden + from, bytes());
  }

  // Starts the copy of the piece of `row` into `stage`. One lane of the warp calls it.
  __device__ __forceinline__ void request(mg::i64 row, int stage) const {
    if (row >= at_.rows) return;
    mg::CopyBarrier& arrived = arrived_[stage * S::kWarps];
    mg::arrive_expecting(arrived, bytes() * (kAdd ? 2 : 1));
    if (count_ == 0) return;
    T* const to = shared_ + stage * kStageSize + first_;
    const int from = slice() + first_;
    mg::bulk_load_kept(to, at_.x + row * at_.x_stride + from, bytes(), arrived);
    if constexpr (kAdd) {
      mg::bulk_load_kept(to + S::kSlice, at_.residual + row * S::kHidden + from, bytes(), arrived);
    }
  }

  __device__ __forceinline__ void wait(int stage, unsigned int phase) const {
    mg::wait(arrived_[stage * S::kWarps], phase);
  }

  // Where the vector at `column` of x begins. The vector of residual is kSlice elements further on.
  __device__ __forceinline__ T* held(int stage, int column) const {
    return shared_ + stage * kStageSize + column;
  }

  // Calls visit(step, column) for each vector that this thread owns in the piece.
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
  static constexpr int kStageSize = S::kSlice * (kAdd ? 2 : 1);

  __device__ __forceinline__ unsigned int bytes() const {
    return static_cast<unsigned int>(count_) * sizeof(T);
  }

  const StreamTensors<S>& at_;
  T* const shared_;
  mg::CopyBarrier* const arrived_;
  int first_, count_, slice_;  // in columns; slice_ is set in clusters only
};

// The sum over the threads of a row, for one row after the other. Every thread calls tell() with
// its part and then take() for the sum. The class needs kFloats floats of shared memory, and in
// clusters kBarriers barriers. Two areas take turns, so one barrier per row is enough.
template <class S, bool kInCluster = (S::kCluster > 1)>
class RowSum {
 public:
  static constexpr int kFloats = 2 * S::kWarps, kBarriers = 1;

  __device__ __forceinline__ RowSum(float* scratch, mg::CopyBarrier*) : scratch_(scratch) {}

  __device__ __forceinline__ void tell(float part) const {
    part = mg::sum_of_lanes<32>(part);
    if (threadIdx.x % 32 == 0) scratch_[turn_ + threadIdx.x / 32] = part;
  }

  __device__ __forceinline__ float take() {
    __syncthreads();
    const float sum = mg::sum_of_lanes<S::kWarps>(scratch_[turn_ + threadIdx.x % S::kWarps]);
    turn_ = S::kWarps - turn_;
    return sum;
  }

 private:
  float* const scratch_;
  int turn_ = 0;
};

template <class S>
class RowSum<S, true> {
  using Sums = mg::ClusterSums<S::kThreads, S::kCluster, 1>;

 public:
  static constexpr int kFloats = Sums::kFloats, kBarriers = Sums::kBarriers;

  __device__ __forceinline__ RowSum(float* slots, mg::CopyBarrier* told) : sums_(slots, told) {
    sums_.begin();
  }

  __device__ __forceinline__ void tell(float part) const {
    const float parts[1] = {mg::sum_of_lanes<32>(part)};
    sums_.tell(parts);
  }

  __device__ __forceinline__ float take() {
    float total[1];
    sums_.take(total);
    return total[0];
  }

 private:
  Sums sums_;
};

// One thread's part of the rows of its block.
template <class S, bool kAdd, bool kHasRstd>
class StreamRows {
  using T = typename S::T;
  using W = typename S::W;
  static constexpr int kVec = S::kVec;
  using Vector = mg::Vec<T, kVec>;

 public:
  __device__ __forceinline__ StreamRows(const StreamTensors<S>& at, const Piece<S, kAdd>& piece,
                                        float eps, float weight_offset)
      : at_(at), piece_(piece), eps_(eps), weight_offset_(weight_offset) {
    if constexpr (S::kEarly) {
      piece.for_each_vector([&](int step, int column) {
        weight_[step] = mg::load_pieces<kVec>(at.weight + piece.slice() + column);
      });
    }
    __syncwarp();
  }

  __device__ __forceinline__ void process_from_registers(RowSum<S>& row_sum) const {
    int stage = 0;
    unsigned int phase = 0;
    for (mg::i64 row = first(); row < at_.rows; row += step()) {
      Vector kept[S::kSteps];
      piece_.wait(stage, phase);
      piece_.for_each_vector([&](int i, int column) { kept[i] = read(stage, column); });
      refill(row, stage);
      float squares = 0.0f;
      piece_.for_each_vector([&](int i, int column) {
        store_residual(row, column, kept[i]);
        squares += mg::sum_of_squares(kept[i]);
      });
      row_sum.tell(squares);
      write(row, row_sum.take(), [&](int i, int) { return kept[i]; });
      advance(stage, phase);
    }
  }

  // Each row is written between tell() and take() of the next row.
  __device__ __forceinline__ void process_in_place(RowSum<S>& row_sum) const {
    int stage = 0, last_stage = 0;
    unsigned int phase = 0;
    float last_sum = 0.0f;
    mg::i64 row = first();
    const auto write_last = [&] {
      write(row - step(), last_sum,
            [&](int, int column) { return mg::load<kVec>(piece_.held(last_stage, column)); });
    };
    for (; row < at_.rows; row += step()) {
      float squares = 0.0f;
      piece_.wait(stage, phase);
      piece_.for_each_vector([&](int, int column) {
        const Vector value = read(stage, column);
        store_residual(row, column, value);
        if constexpr (kAdd) mg::store<kVec>(piece_.held(stage, column), value);
        squares += mg::sum_of_squares(value);
      });
      row_sum.tell(squares);
      if (row != first()) {
        write_last();
        refill(row - step(), last_stage);
      }
      last_sum = row_sum.take();
      last_stage = stage;
      advance(stage, phase);
    }
    if (row != first()) write_last();
  }

 private:
  __device__ __forceinline__ static mg::i64 first() { return blockIdx.x / S::kCluster; }
  __device__ __forceinline__ static mg::i64 step() { return gridDim.x / S::kCluster; }

  __device__ __forceinline__ static void advance(int& stage, unsigned int& phase) {
    stage = stage == S::kStages - 1 ? 0 : stage + 1;
    if (stage == 0) phase ^= 1;
  }

  // Returns x, or x + residual for add_forward.
  __device__ __forceinline__ Vector read(int stage, int column) const {
    const T* const place = piece_.held(stage, column);
    if constexpr (!kAdd) return mg::load<kVec>(place);
    return mg::sum_of(mg::load<kVec>(place), mg::load<kVec>(place + S::kSlice));
  }

  // The warp is done with the place of this row. The row that is kStages steps further on is copied
  // there.
  __device__ __forceinline__ void refill(mg::i64 row, int stage) const {
    mg::publish_to_copies();
    __syncwarp();
    if (threadIdx.x % 32 == 0) piece_.request(row + S::kStages * step(), stage);
  }

  __device__ __forceinline__ void store_residual(mg::i64 row, int column,
                                                 const Vector& value) const {
    if constexpr (!kAdd) return;
    const mg::i64 at = row * S::kHidden + piece_.slice() + column;
    mg::store_hinted<kVec, S::kStore>(at_.residual_out + at, value);
  }

  // Scales and writes a row. `sum` is the sum of its squares, and value(step, column) returns the
  // vector to scale.
  template <class Value>
  __device__ __forceinline__ void write(mg::i64 row, float sum, const Value& value) const {
    const float scale = mg::rsqrt(sum * (1.0f / S::kHidden) + eps_);
    const W* const weight_row = mg::read_each_time(at_.weight) + piece_.slice();
    T* const y = at_.y + row * S::kHidden + piece_.slice();
    piece_.for_each_vector([&](int i, int column) {
      mg::Pieces<W, kVec> w;
      if constexpr (S::kEarly) {
        w = weight_[i];
      } else {
        w = mg::load_pieces<kVec>(weight_row + column);
      }
      mg::store_hinted<kVec, S::kStore>(y + column,
                                        mg::scaled(value(i, column), w, weight_offset_, scale));
    });
    if constexpr (kHasRstd) {
      if (threadIdx.x == 0 && piece_.slice() == 0) at_.rstd[row] = scale;
    }
  }

  const StreamTensors<S>& at_;
  const Piece<S, kAdd>& piece_;
  const float eps_, weight_offset_;
  mg::Pieces<W, kVec> weight_[S::kEarly ? S::kSteps : 1];
};

template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize_stream(const StreamTensors<S>& at, float eps,
                                                 float weight_offset) {
  MG_SHARED(mg::CopyBarrier, arrived, [S::kStages * S::kWarps]);
  MG_SHARED(float, scratch, [RowSum<S>::kFloats]);
  MG_SHARED(mg::CopyBarrier, told, [RowSum<S>::kBarriers]);
  const Piece<S, kAdd> piece(at, mg::dynamic_shared<typename S::T>(), arrived);
  const bool leads = threadIdx.x % 32 == 0;
  const mg::i64 first = blockIdx.x / S::kCluster, step = gridDim.x / S::kCluster;

  if (leads) piece.init_barriers();
  if constexpr (S::kPdl) {
    mg::let_next_grid_start();
    if (leads) {
      for (int i = 0; i < S::kStages; ++i) piece.prefetch(first + i * step);
    }
    mg::wait_for_previous_grid();
  }
  if (leads) {
    for (int i = 0; i < S::kStages; ++i) piece.request(first + i * step, i);
  }
  const StreamRows<S, kAdd, kHasRstd> rows(at, piece, eps, weight_offset);
  RowSum<S> row_sum(scratch, told);
  if constexpr (S::kHold == HOLD::registers) {
    rows.process_from_registers(row_sum);
  } else {
    rows.process_in_place(row_sum);
  }
}

template <class T, class W, int kHidden, int kCluster, int kThreads, int kStages, int kBlocksPerSm,
          HOLD kHold, STORE kStore, bool kEarly, bool kPdl, bool kHasRstd>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_forward_stream(const T* x, const W* weight, T* __restrict__ y, float* __restrict__ rstd,
                           mg::i64 rows, mg::i64 x_stride, float eps, float weight_offset) {
  using S = StreamShape<T, W, kHidden, kCluster, kThreads, kStages, kHold, kStore, kEarly, kPdl>;
  const StreamTensors<S> tensors{x, nullptr, weight, y, nullptr, rstd, rows, x_stride};
  normalize_stream<S, false, kHasRstd>(tensors, eps, weight_offset);
}

template <class T, class W, int kHidden, int kCluster, int kThreads, int kStages, int kBlocksPerSm,
          HOLD kHold, STORE kStore, bool kEarly, bool kPdl, bool kHasRstd>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_add_forward_stream(const T* x, const T* residual, const W* weight, T* __restrict__ y,
                               T* residual_out, float* __restrict__ rstd, mg::i64 rows,
                               mg::i64 x_stride, float eps, float weight_offset) {
  using S = StreamShape<T, W, kHidden, kCluster, kThreads, kStages, kHold, kStore, kEarly, kPdl>;
  const StreamTensors<S> tensors{x, residual, weight, y, residual_out, rstd, rows, x_stride};
  normalize_stream<S, true, kHasRstd>(tensors, eps, weight_offset);
}
