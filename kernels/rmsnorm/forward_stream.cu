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
//            PDL            The grid starts while the previous grid ends, and prefetches its first
//                           rows into L2 before it waits for that grid.
// Numerics   As in forward.cu: fp32, and y is rounded once. A thread adds at most 64 squares, VEC
//            at a time.

#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/row_norm.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "forward_stream_piece.cuh"
#include "forward_stream_sum.cuh"

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
      row_sum.send(squares);
      write(row, row_sum.receive(), [&](int i, int) { return kept[i]; });
      advance(stage, phase);
    }
  }

  // Each row is written between send() and receive() of the next row.
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
      row_sum.send(squares);
      if (row != first()) {
        write_last();
        refill(row - step(), last_stage);
      }
      last_sum = row_sum.receive();
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

// The static shared memory of a block.
template <class S>
struct StreamMemory {
  mg::CopyBarrier arrived[S::kStages * S::kWarps];
  mg::CopyBarrier sums_arrived[RowSum<S>::kBarriers];
  float scratch[RowSum<S>::kFloats];
};

template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize_stream(const StreamTensors<S>& at, float eps,
                                                 float weight_offset) {
  MG_SHARED(StreamMemory<S>, memory);
  const Piece<S, kAdd> piece(at, mg::dynamic_shared<typename S::T>(), memory.arrived);
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
  RowSum<S> row_sum(memory.scratch, memory.sums_arrived);
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
