// rmsnorm.backward and rmsnorm.add_backward: the gradients of y = x * rstd * (offset + weight).
//
//   xhat = x * rstd    g = dy * (offset + weight)    c[r] = sum(g[r, :] * xhat[r, :]) / hidden
//   dx = rstd * (g - xhat * c) [+ dresidual]         dw[column] = sum over rows of dy * xhat
//
// The plain version: one thread per row, and atomics add up dw.
//
//   __global__ void rmsnorm_backward(const T* dy, const T* x, const T* weight, const float* rstd,
//                                    T* dx, float* dw, int rows, int hidden, float offset) {
//     int row = blockIdx.x * blockDim.x + threadIdx.x;
//     if (row >= rows) return;
//     float c = 0;
//     for (int i = row * hidden, col = 0; col < hidden; i++, col++) {
//       c += dy[i] * (offset + weight[col]) * (x[i] * rstd[row]);
//     }
//     c /= hidden;
//     for (int i = row * hidden, col = 0; col < hidden; i++, col++) {
//       float g = dy[i] * (offset + weight[col]), xhat = x[i] * rstd[row];
//       dx[i] = rstd[row] * (g - xhat * c);
//       atomicAdd(&dw[col], dy[i] * xhat);
//     }
//   }
//
// It reads x and dy twice, and the order of the atomics changes the last bits of dw from run to
// run.
//
// Algorithm  The grid stays: each block takes every gridDim.x-th group of ROWS_PER_BLOCK rows.
//            THREADS_PER_ROW threads own a row and step over it together, VEC elements per thread.
//            So a thread meets the same columns in every row. It keeps their weights and their sums
//            for dw in registers.
//            x and dy are read once, STAGES rows ahead of the arithmetic. They go into registers,
//            or into shared memory by cp.async. Each thread copies only what it reads itself, which
//            saves a barrier.
//            c takes one barrier of the row's threads, and none for up to 32 threads. The groups of
//            a block do not wait for each other.
//            At the end a block adds its groups' sums for dw in shared memory and writes one row of
//            partial sums. A second kernel, rmsnorm_backward_dw, adds these rows in a fixed order.
//            rmsnorm_backward_cluster cuts a row into the slices of a cluster. It is for rows that
//            are too wide for one block, or too few for all SMs. Its warps send their parts of c
//            into the shared memory of every block. Meanwhile they finish the row before. This
//            saves the barrier of the cluster, and nobody waits long for a sum.
// Traffic    It reads 2 * rows * hidden elements of T (add_backward: 3) and 4 * rows bytes of rstd.
//            It writes rows * hidden elements. A block writes 4 * hidden bytes of partial sums,
//            which the second kernel reads through L2.
// Work       10 * rows * hidden flops, less than 2 flops per byte. The kernel is bound by memory.
// Tunables   THREADS_PER_ROW  Up to 32 threads need no barrier, and there is less to add up. With
//                             more threads each has fewer columns and needs fewer registers.
//            ROWS_PER_BLOCK   More rows are in flight for the same number of partial sums.
//            VEC              The elements of an access. 16 bytes need the fewest instructions.
//            ROWS_AT_ONCE     The rows that a row's threads process together. There are fewer
//                             barriers, and work to do while a sum is on its way. More memory is
//                             needed for rows in flight.
//            STAGES           The number of such row groups that are loaded or being processed.
//                             Each costs registers or shared memory.
//            LOAD             ldg loads into registers and serves any alignment. cp_async copies 4
//                             bytes or more.
//            BLOCKS_PER_SM    More rows are in flight, and barriers overlap. A thread gets fewer
//                             registers, and there are more partial sums.
//            CLUSTER          The blocks of a row. More blocks hold wider rows and spread few rows
//                             over more SMs. Fewer rows are in flight at once.
//            PDL              The second kernel starts when the rows are done. The first kernel
//                             prefetches its first rows into L2 while the grid before it ends.
// Numerics   Everything is fp32; dx and dw are rounded once. dy * x, xhat and g must be finite in
//            fp32. The order of the additions depends on the parameters and the size of the grid
//            alone: two runs give the same bits.

#include <mg/async_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/cluster_sums.cuh>
#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/group_sum.cuh>
#include <mg/partial_sums.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class LOAD { ldg, cp_async };

// The arguments of the kernels. dresidual is null in rmsnorm.backward.
template <class T, class W>
struct Gradients {
  const T* dy;
  const T* x;
  const W* weight;
  const float* rstd;
  const T* dresidual;
  T* __restrict__ dx;
  float* __restrict__ partials;
  mg::i64 rows, x_stride;
  float weight_offset;
};

// The constants of a variant.
template <class T_, class W_, int kHidden_, int kThreadsPerRow_, int kRowsPerBlock_, int kVec_,
          int kRowsAtOnce_, int kStages_, LOAD kLoad_, int kCluster_, bool kHasDw_,
          bool kHasResidual_>
struct Tiling {
  using T = T_;
  using W = W_;
  using Vector = mg::Vec<T, kVec_>;
  static constexpr int kHidden = kHidden_, kVec = kVec_, kStages = kStages_;
  static constexpr int kThreadsPerRow = kThreadsPerRow_, kRowsPerBlock = kRowsPerBlock_;
  static constexpr int kRowsAtOnce = kRowsAtOnce_, kCluster = kCluster_;
  static constexpr LOAD kLoad = kLoad_;
  static constexpr bool kHasDw = kHasDw_, kHasResidual = kHasResidual_;

  static constexpr int kThreads = kThreadsPerRow * kRowsPerBlock;
  static constexpr int kSlice = kHidden / kCluster;    // columns of a block
  static constexpr int kStep = kThreadsPerRow * kVec;  // columns that a row's threads cover at once
  static constexpr int kSteps = (kSlice + kStep - 1) / kStep;
  static constexpr int kElements = kSteps * kVec;       // a thread's elements of a row
  static constexpr int kInputs = kHasResidual ? 3 : 2;  // dy, x, dresidual
  static constexpr int kPartialRow = (kHidden + 3) / 4 * 4;

  static_assert(kVec * sizeof(T) <= 16, "one access is at most 16 bytes");
  static_assert(kHidden % (kCluster * kVec) == 0, "every slice begins on a whole vector");
  static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is 1 to 32 warps");
  static_assert(kElements <= 32, "too many columns for one thread");
  static_assert(kLoad == LOAD::ldg || kVec * sizeof(T) >= 4, "cp.async copies 4 bytes and up");
};

// Calls visit(step, column) for each vector that thread `lane` owns in a slice. Only the last step
// can reach past the end of the slice, so only the last step is guarded. The loads of the other
// steps are then issued together.
template <class K, class Visit>
__device__ __forceinline__ void for_each_vector(int lane, const Visit& visit) {
  constexpr int kWholeSteps = K::kSlice / K::kStep;
#pragma unroll
  for (int step = 0; step < kWholeSteps; ++step) visit(step, step * K::kStep + lane * K::kVec);
  if constexpr (K::kSlice % K::kStep != 0) {
    const int column = kWholeSteps * K::kStep + lane * K::kVec;
    if (column < K::kSlice) visit(kWholeSteps, column);
  }
}

// One thread's part of the rows of its block. It holds the weights of its columns, their sums for
// dw, and the rows that are being loaded.
template <class K>
class Rows {
 public:
  using T = typename K::T;
  using W = typename K::W;
  using Vector = typename K::Vector;
  static constexpr int kAtOnce = K::kRowsAtOnce;
  static constexpr int kScratch =
      mg::group_sum_floats<K::kThreadsPerRow, K::kRowsPerBlock, kAtOnce>();
  using ClusterSums = mg::ClusterSums<K::kThreads, K::kCluster, kAtOnce>;

  __device__ __forceinline__ Rows(const Gradients<T, W>& in, int first_column)
      : in_(in),
        first_column_(first_column),
        lane_(static_cast<int>(threadIdx.x) % K::kThreadsPerRow),
        group_(static_cast<int>(threadIdx.x) / K::kThreadsPerRow),
        first_row_(mg::i64{blockIdx.x / K::kCluster} * K::kRowsPerBlock + group_),
        stride_(mg::i64{gridDim.x / K::kCluster} * K::kRowsPerBlock) {
    for_each_vector<K>(lane_, [&](int step, int column) {
      const auto loaded = mg::load_pieces<K::kVec>(in.weight + first_column + column);
#pragma unroll
      for (int i = 0; i < K::kVec; ++i) {
        weight_[step * K::kVec + i] = in.weight_offset + mg::to_float(loaded[i]);
      }
    });
    if constexpr (K::kHasDw) {
#pragma unroll
      for (int i = 0; i < K::kElements; ++i) dw_[i] = 0.0f;
    }
  }

  // Processes all rows of the block. `scratch` is 2 * kScratch floats of shared memory.
  __device__ __forceinline__ void process_all(float* scratch) {
    if constexpr (K::kLoad == LOAD::ldg) {
      process_from_registers(scratch);
    } else {
      process_from_shared(scratch);
    }
  }

  // The same with cp_async for the rows of a cluster. dx is written while the sums of the next rows
  // travel through the cluster.
  __device__ __forceinline__ void process_in_cluster(ClusterSums cluster_sums) {
    constexpr int kAhead = K::kStages - 2;
    static_assert(K::kRowsPerBlock == 1 && K::kLoad == LOAD::cp_async && kAhead >= 1);
    Copies copies;
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) {
      copy(first_row_ + stage * kAtOnce * stride_, stage, copies);
    }
    float next_rstd[kAtOnce], last_rstd[kAtOnce], means[kAtOnce];
    load_rstd(first_row_, next_rstd);
    __syncwarp();
    cluster_sums.begin();
    int stage = 0, last_stage = 0;
    mg::i64 row = first_row_;
    for (; row < in_.rows; row += kAtOnce * stride_) {
      const int free_stage = stage + kAhead < K::kStages ? stage + kAhead : stage - 2;
      copy(row + kAhead * kAtOnce * stride_, free_stage, copies);
      float rstd[kAtOnce], sums[kAtOnce];
      take_rstd(row, next_rstd, rstd);
      copies.template wait<kAhead>();
      accumulate(row, rstd, in_stage(stage), sums);
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) sums[r] = mg::sum_of_lanes<32>(sums[r]);
      cluster_sums.tell(sums);
      if (row != first_row_) {
        write_dx(row - kAtOnce * stride_, last_rstd, means, in_stage(last_stage));
      }
      cluster_sums.take(means);
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        means[r] *= 1.0f / K::kHidden;
        last_rstd[r] = rstd[r];
      }
      last_stage = stage;
      stage = stage == K::kStages - 1 ? 0 : stage + 1;
    }
    if (row != first_row_) {
      write_dx(row - kAtOnce * stride_, last_rstd, means, in_stage(last_stage));
    }
    copies.template wait<0>();
  }

  // Writes the block's sums for dw as a row of the partial sums. A block of a cluster writes its
  // slice of the cluster's row.
  __device__ __forceinline__ void write_partials() const {
    float* const to =
        in_.partials + mg::i64{blockIdx.x / K::kCluster} * K::kPartialRow + first_column_;
    if constexpr (K::kRowsPerBlock == 1) {
      for_each_vector<K>(lane_, [&](int step, int column) { put(step, to + column); });
    } else {
      float* const sums = mg::dynamic_shared<float>();
      __syncthreads();
      for_each_vector<K>(
          lane_, [&](int step, int column) { put(step, sums + group_ * K::kPartialRow + column); });
      __syncthreads();
      for (int column = static_cast<int>(threadIdx.x); column < K::kHidden; column += K::kThreads) {
        float sum = 0.0f;
#pragma unroll
        for (int group = 0; group < K::kRowsPerBlock; ++group) {
          sum += sums[group * K::kPartialRow + column];
        }
        to[column] = sum;
      }
    }
  }

 private:
  enum Input { kDy, kX, kDresidual };
  using Copies = mg::AsyncCopies<K::kStages * kAtOnce * K::kInputs * K::kSteps>;

  __device__ __forceinline__ const T* source(int input, mg::i64 row) const {
    if (input == kDy) return in_.dy + row * K::kHidden + first_column_;
    if (input == kX) return in_.x + row * in_.x_stride + first_column_;
    return in_.dresidual + row * K::kHidden + first_column_;
  }

  // Calls visit(r, row) for the rows `first`, first + stride, ..., as far as they exist.
  template <class Visit>
  __device__ __forceinline__ void for_each_row(mg::i64 first, const Visit& visit) const {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const mg::i64 row = first + r * stride_;
      if (row < in_.rows) visit(r, row);
    }
  }

  // Computes the thread's part of sum(g * xhat) of each row, and adds to its sums for dw.
  // at(r, input, step) returns the thread's vector of an input.
  template <class At>
  __device__ __forceinline__ void accumulate(mg::i64 first, const float (&rstd)[kAtOnce],
                                             const At& at, float (&sums)[kAtOnce]) {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) sums[r] = 0.0f;
    for_each_row(first, [&](int r, mg::i64) {
      float sum = 0.0f;
      for_each_vector<K>(lane_, [&](int step, int) {
        float dy[K::kVec], x[K::kVec], part = 0.0f;
        mg::to_floats(at(r, kDy, step), dy);
        mg::to_floats(at(r, kX, step), x);
#pragma unroll
        for (int i = 0; i < K::kVec; ++i) {
          const float product = dy[i] * x[i];
          if constexpr (K::kHasDw) dw_[step * K::kVec + i] += product * rstd[r];
          part += product * weight_[step * K::kVec + i];
        }
        sum += part;
      });
      sums[r] = sum * rstd[r];
    });
  }

  template <class At>
  __device__ __forceinline__ void write_dx(mg::i64 first, const float (&rstd)[kAtOnce],
                                           const float (&means)[kAtOnce], const At& at) const {
    for_each_row(first, [&](int r, mg::i64 row) {
      T* const dx_row = in_.dx + row * K::kHidden + first_column_;
      const float of_x = rstd[r] * means[r];
      for_each_vector<K>(lane_, [&](int step, int column) {
        float dy[K::kVec], x[K::kVec], dx[K::kVec];
        mg::to_floats(at(r, kDy, step), dy);
        mg::to_floats(at(r, kX, step), x);
#pragma unroll
        for (int i = 0; i < K::kVec; ++i) {
          dx[i] = rstd[r] * (dy[i] * weight_[step * K::kVec + i] - x[i] * of_x);
        }
        if constexpr (K::kHasResidual) {
          float dresidual[K::kVec];
          mg::to_floats(at(r, kDresidual, step), dresidual);
#pragma unroll
          for (int i = 0; i < K::kVec; ++i) dx[i] += dresidual[i];
        }
        mg::store_hinted<K::kVec, mg::Cache::normal>(dx_row + column, mg::from_floats<T>(dx));
      });
    });
  }

  // Processes kAtOnce rows. All threads of the group call it.
  template <class At>
  __device__ __forceinline__ void process(mg::i64 first, const float (&rstd)[kAtOnce],
                                          float* scratch, const At& at) {
    float sums[kAtOnce];
    accumulate(first, rstd, at, sums);
    mg::group_sums<K::kThreadsPerRow, K::kRowsPerBlock>(sums, scratch + turn_);
    turn_ = kScratch - turn_;  // Two scratch areas take turns, so one barrier is enough.
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) sums[r] *= 1.0f / K::kHidden;
    write_dx(first, rstd, sums, at);
  }

  // The rows of one stage in registers.
  struct Loaded {
    Vector inputs[kAtOnce][K::kInputs][K::kSteps];
    float rstd[kAtOnce];
  };

  __device__ __forceinline__ void load(mg::i64 first, Loaded& to) const {
    for_each_row(first, [&](int r, mg::i64 row) {
      to.rstd[r] = in_.rstd[row];
      for_each_vector<K>(lane_, [&](int step, int column) {
#pragma unroll
        for (int input = 0; input < K::kInputs; ++input) {
          to.inputs[r][input][step] = mg::load<K::kVec>(source(input, row) + column);
        }
      });
    });
  }

  __device__ __forceinline__ void process_from_registers(float* scratch) {
    Loaded stages[K::kStages];
    mg::i64 row = first_row_;
#pragma unroll
    for (int stage = 0; stage < K::kStages; ++stage) {
      load(row + stage * kAtOnce * stride_, stages[stage]);
    }
    while (row < in_.rows) {
#pragma unroll
      for (int stage = 0; stage < K::kStages; ++stage) {
        if (row < in_.rows) {
          const Loaded& from = stages[stage];
          process(row, from.rstd, scratch,
                  [&](int r, int input, int step) { return from.inputs[r][input][step]; });
          load(row + K::kStages * kAtOnce * stride_, stages[stage]);
        }
        row += kAtOnce * stride_;
      }
    }
  }

  // Where a vector of this thread lies in shared memory.
  __device__ __forceinline__ T* place(int stage, int r, int input, int step) const {
    const int at = ((stage * K::kRowsPerBlock + group_) * kAtOnce + r) * K::kInputs + input;
    return mg::dynamic_shared<T>() + (at * K::kSteps + step) * K::kStep + lane_ * K::kVec;
  }

  __device__ __forceinline__ auto in_stage(int stage) const {
    return [this, stage](int r, int input, int step) {
      return mg::load<K::kVec>(place(stage, r, input, step));
    };
  }

  __device__ __forceinline__ void copy(mg::i64 first, int stage, Copies& copies) const {
    for_each_row(first, [&](int r, mg::i64 row) {
      for_each_vector<K>(lane_, [&](int step, int column) {
#pragma unroll
        for (int input = 0; input < K::kInputs; ++input) {
          copies.template copy<K::kVec* static_cast<int>(sizeof(T))>(place(stage, r, input, step),
                                                                     source(input, row) + column);
        }
      });
    });
    copies.end_group();
  }

  __device__ __forceinline__ void load_rstd(mg::i64 first, float (&to)[kAtOnce]) const {
    for_each_row(first, [&](int r, mg::i64 row) { to[r] = in_.rstd[row]; });
  }

  // Moves the rstd that were loaded for these rows from `next` to `to`, and loads those of the next
  // rows into `next`.
  __device__ __forceinline__ void take_rstd(mg::i64 first, float (&next)[kAtOnce],
                                            float (&to)[kAtOnce]) const {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) to[r] = next[r];
    load_rstd(first + kAtOnce * stride_, next);
  }

  __device__ __forceinline__ void process_from_shared(float* scratch) {
    constexpr int kAhead = K::kStages - 1;  // the stages in flight while one stage is processed
    Copies copies;
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) {
      copy(first_row_ + stage * kAtOnce * stride_, stage, copies);
    }
    float next_rstd[kAtOnce];
    load_rstd(first_row_, next_rstd);
    int stage = 0;
    for (mg::i64 row = first_row_; row < in_.rows; row += kAtOnce * stride_) {
      // Into the stage of the last rows. Each thread overwrites only what it read itself, so no
      // barrier is needed.
      copy(row + kAhead * kAtOnce * stride_, stage == 0 ? kAhead : stage - 1, copies);
      float rstd[kAtOnce];
      take_rstd(row, next_rstd, rstd);
      copies.template wait<kAhead>();
      process(row, rstd, scratch, in_stage(stage));
      stage = stage == kAhead ? 0 : stage + 1;
    }
    copies.template wait<0>();
  }

  // Stores the sums for dw of one vector's columns to global or shared memory.
  __device__ __forceinline__ void put(int step, float* to) const {
    constexpr int kPiece = K::kVec < 4 ? K::kVec : 4;
#pragma unroll
    for (int i = 0; i < K::kVec; i += kPiece) {
      mg::Vec<float, kPiece> sums;
#pragma unroll
      for (int j = 0; j < kPiece; ++j) sums.data[j] = dw_[step * K::kVec + i + j];
      mg::store<kPiece>(to + i, sums);
    }
  }

  const Gradients<T, W>& in_;
  const int first_column_, lane_, group_;
  const mg::i64 first_row_, stride_;  // the rows that the thread's group processes
  int turn_ = 0;
  float weight_[K::kElements];
  float dw_[K::kHasDw ? K::kElements : 1];
};

// Prefetches the thread's part of its first rows into L2 while the previous grid still runs. The
// threads of row 0 prefetch the weights too.
template <class K>
__device__ __forceinline__ void prefetch_first_rows(
    const Gradients<typename K::T, typename K::W>& in, int first_column) {
  const int lane = static_cast<int>(threadIdx.x) % K::kThreadsPerRow;
  const mg::i64 stride = mg::i64{gridDim.x / K::kCluster} * K::kRowsPerBlock;
  mg::i64 row = mg::i64{blockIdx.x / K::kCluster} * K::kRowsPerBlock +
                static_cast<int>(threadIdx.x) / K::kThreadsPerRow;
  if (row == 0) {  // If every block prefetched them, the requests would queue in L2.
    for_each_vector<K>(
        lane, [&](int, int column) { mg::prefetch_to_l2(in.weight + first_column + column); });
  }
#pragma unroll
  for (int r = 0; r < K::kRowsAtOnce; ++r, row += stride) {
    if (row >= in.rows) return;
    for_each_vector<K>(lane, [&](int, int column) {
      mg::prefetch_to_l2(in.dy + row * K::kHidden + first_column + column);
      mg::prefetch_to_l2(in.x + row * in.x_stride + first_column + column);
      if constexpr (K::kHasResidual) {
        mg::prefetch_to_l2(in.dresidual + row * K::kHidden + first_column + column);
      }
    });
  }
}

template <class K, bool kPdl>
__device__ __forceinline__ void begin_rows(const Gradients<typename K::T, typename K::W>& in,
                                           int first_column) {
  if constexpr (kPdl) {
    if constexpr (!K::kHasDw) mg::let_next_grid_start();
    prefetch_first_rows<K>(in, first_column);
    mg::wait_for_previous_grid();
  }
}

// Lets rmsnorm_backward_dw start only now. That kernel has nothing to prefetch, and if it started
// earlier its blocks would take room from blocks that still process rows.
template <class K, bool kPdl>
__device__ __forceinline__ void end_rows(const Rows<K>& rows) {
  if constexpr (K::kHasDw) {
    if constexpr (kPdl) mg::let_next_grid_start();
    rows.write_partials();
  }
}

template <class K, bool kPdl>
__device__ __forceinline__ void backward(const Gradients<typename K::T, typename K::W>& in) {
  begin_rows<K, kPdl>(in, 0);
  MG_SHARED(float, scratch, [2 * Rows<K>::kScratch]);
  Rows<K> rows(in, 0);
  rows.process_all(scratch);
  end_rows<K, kPdl>(rows);
}

template <class K, bool kPdl>
__device__ __forceinline__ void backward_in_cluster(
    const Gradients<typename K::T, typename K::W>& in) {
  const int first_column = static_cast<int>(mg::cluster_rank()) * K::kSlice;
  begin_rows<K, kPdl>(in, first_column);
  using Sums = typename Rows<K>::ClusterSums;
  MG_SHARED(float, slots, [Sums::kFloats]);
  MG_SHARED(mg::CopyBarrier, told, [Sums::kBarriers]);
  Rows<K> rows(in, first_column);
  rows.process_in_cluster(Sums(slots, told));
  end_rows<K, kPdl>(rows);
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kVec,
          int kRowsAtOnce, int kStages, LOAD kLoad, int kBlocksPerSm, bool kPdl, bool kHasDw>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock, kBlocksPerSm)
    rmsnorm_backward(const T* dy, const T* x, const W* weight, const float* rstd,
                     T* __restrict__ dx, float* __restrict__ partials, mg::i64 rows,
                     mg::i64 x_stride, float weight_offset) {
  backward<Tiling<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kVec, kRowsAtOnce, kStages, kLoad,
                  1, kHasDw, false>,
           kPdl>({dy, x, weight, rstd, nullptr, dx, partials, rows, x_stride, weight_offset});
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kVec,
          int kRowsAtOnce, int kStages, LOAD kLoad, int kBlocksPerSm, bool kPdl, bool kHasDw>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock, kBlocksPerSm)
    rmsnorm_add_backward(const T* dy, const T* s, const W* weight, const float* rstd,
                         const T* dresidual, T* __restrict__ dx, float* __restrict__ partials,
                         mg::i64 rows, mg::i64 s_stride, float weight_offset) {
  backward<Tiling<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kVec, kRowsAtOnce, kStages, kLoad,
                  1, kHasDw, true>,
           kPdl>({dy, s, weight, rstd, dresidual, dx, partials, rows, s_stride, weight_offset});
}

template <class T, class W, int kHidden, int kThreads, int kVec, int kRowsAtOnce, int kStages,
          int kCluster, int kBlocksPerSm, bool kPdl, bool kHasDw>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_backward_cluster(const T* dy, const T* x, const W* weight, const float* rstd,
                             T* __restrict__ dx, float* __restrict__ partials, mg::i64 rows,
                             mg::i64 x_stride, float weight_offset) {
  backward_in_cluster<Tiling<T, W, kHidden, kThreads, 1, kVec, kRowsAtOnce, kStages, LOAD::cp_async,
                             kCluster, kHasDw, false>,
                      kPdl>(
      {dy, x, weight, rstd, nullptr, dx, partials, rows, x_stride, weight_offset});
}

template <class T, class W, int kHidden, int kThreads, int kVec, int kRowsAtOnce, int kStages,
          int kCluster, int kBlocksPerSm, bool kPdl, bool kHasDw>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_add_backward_cluster(const T* dy, const T* s, const W* weight, const float* rstd,
                                 const T* dresidual, T* __restrict__ dx,
                                 float* __restrict__ partials, mg::i64 rows, mg::i64 s_stride,
                                 float weight_offset) {
  backward_in_cluster<Tiling<T, W, kHidden, kThreads, 1, kVec, kRowsAtOnce, kStages, LOAD::cp_async,
                             kCluster, kHasDw, true>,
                      kPdl>(
      {dy, s, weight, rstd, dresidual, dx, partials, rows, s_stride, weight_offset});
}

// Computes dw from the partial sums of `parts` blocks. dw is zero if there are none.
template <class W, int kHidden, int kThreads, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_backward_dw(const float* partials, W* __restrict__ dw, mg::i32 parts) {
  if constexpr (kPdl) {
    mg::wait_for_previous_grid();
    // The next grid prefetches its rows. That would be too early while the rows of the kernel
    // before this one are still processed.
    mg::let_next_grid_start();
  }
  constexpr mg::i64 kPartialRow = (kHidden + 3) / 4 * 4;
  MG_SHARED(float, scratch, [mg::kPartialSumScratch<kThreads>]);
  const mg::i64 first_column = mg::i64{blockIdx.x} * mg::kPartialSumColumns;
  const float total =
      mg::sum_partials<kThreads>(partials, parts, kPartialRow, first_column, scratch);
  const mg::i64 column = first_column + threadIdx.x;
  if (threadIdx.x < mg::kPartialSumColumns && column < kHidden) {
    dw[column] = mg::from_float<W>(total);
  }
}
