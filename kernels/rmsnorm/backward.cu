// rmsnorm.backward and rmsnorm.add_backward — the gradients of y = x * rstd * (offset + weight):
//
//   xhat = x * rstd    g = dy * (offset + weight)    c[r] = sum(g[r, :] * xhat[r, :]) / hidden
//   dx = rstd * (g - xhat * c) [+ dresidual]         dw[column] = sum over rows of dy * xhat
//
// Algorithm  A grid that stays: each block takes every gridDim.x-th group of ROWS_PER_BLOCK rows.
//            THREADS_PER_ROW threads own a row and step over it together, VEC elements each, so
//            that a thread meets the same columns in every row: their weights and their sums for dw
//            stay in its registers. x and dy are read once, STAGES rows ahead of the arithmetic,
//            into registers or by cp.async into shared memory (each thread what it will read
//            itself, so that no barrier is needed for them). c takes one barrier of the row's
//            threads, none up to 32; groups of a block do not wait for each other. At the end a
//            block adds its row groups' sums for dw in shared memory and writes one row of partial
//            sums; rmsnorm_backward_dw adds these. rmsnorm_backward_cluster cuts rows that are too
//            wide for a block, or too few for all blocks, into the slices of a cluster. Its warps
//            leave their part of c in the shared memory of every block, and while that travels
//            finish the row before: no barrier of the cluster, and nobody waits long for a sum.
// Traffic    reads 2 (3) * rows * hidden elements of T, writes rows * hidden, 4 * rows bytes of
//            rstd; 4 * hidden bytes of partial sums a block, written and read through L2.
// Work       10 * rows * hidden flops, below 2 flops a byte: bound by memory.
// Tunables   THREADS_PER_ROW  few: no barrier (<= 32), less to add up; many: fewer columns, hence
//                             registers, a thread
//            ROWS_PER_BLOCK   more rows in flight for the same partial sums
//            VEC              elements per access; 16 bytes need the fewest instructions
//            ROWS_AT_ONCE     rows that a row's threads process side by side: fewer barriers,
//                             work while a sum travels; more memory in flight
//            STAGES           such rows on their way or in work; each costs registers, or shared
//                             memory
//            LOAD             ldg: into registers, serves any alignment; cp_async: 4 bytes and up
//            BLOCKS_PER_SM    more rows in flight, barriers overlap; fewer registers a thread, more
//                             partial sums
//            CLUSTER          blocks a row: more hold wider rows and spread few rows over more SMs;
//                             fewer rows are in flight at once
//            PDL              the second kernel starts when the rows are done, and the first one's
//                             rows are on their way into L2 when the grid before it ends
// Numerics   everything in fp32; dx and dw are rounded once. dy * x, xhat and g must be finite in
//            fp32. The order of additions is fixed by the parameters and the size of the grid: runs
//            give the same bits.

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

// What the kernel is given. dresidual is null in rmsnorm.backward.
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

// How the kernel was compiled, and what follows from it.
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
  static constexpr int kElements = kSteps * kVec;       // of a row, a thread's
  static constexpr int kInputs = kHasResidual ? 3 : 2;  // dy, x, dresidual
  static constexpr int kPartialRow = (kHidden + 3) / 4 * 4;

  static_assert(kVec * sizeof(T) <= 16, "one access is at most 16 bytes");
  static_assert(kHidden % (kCluster * kVec) == 0, "every slice begins on a whole vector");
  static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is 1 to 32 warps");
  static_assert(kElements <= 32, "too many columns for one thread");
  static_assert(kLoad == LOAD::ldg || kVec * sizeof(T) >= 4, "cp.async copies 4 bytes and up");
};

// Calls visit(step, column) for each vector of a slice that the thread `lane` of it owns. Only the
// last step can lie partly outside, so that only it is guarded: the others' loads go out together.
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

// A thread's part of a block's rows: its columns' weights and sums for dw, and what it reads.
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

  // `scratch` is 2 * kScratch floats of shared memory.
  __device__ __forceinline__ void process_all(float* scratch) {
    if constexpr (K::kLoad == LOAD::ldg) {
      process_from_registers(scratch);
    } else {
      process_from_shared(scratch);
    }
  }

  // As process_all() with cp_async, but dx is written while the sums of the next rows travel
  // through the cluster.
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

  // The block's sums for dw, as a row of the partial sums, or its slice of the cluster's row.
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

  // Calls visit(r, row) for those of the rows `first`, first + stride, ... that exist.
  template <class Visit>
  __device__ __forceinline__ void for_each_row(mg::i64 first, const Visit& visit) const {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const mg::i64 row = first + r * stride_;
      if (row < in_.rows) visit(r, row);
    }
  }

  // The thread's part of each row's sum(g * xhat), and of dw. at(r, input, step) is its vector of
  // an input.
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

  // Some rows, by all threads of their group.
  template <class At>
  __device__ __forceinline__ void process(mg::i64 first, const float (&rstd)[kAtOnce],
                                          float* scratch, const At& at) {
    float sums[kAtOnce];
    accumulate(first, rstd, at, sums);
    mg::group_sums<K::kThreadsPerRow, K::kRowsPerBlock>(sums, scratch + turn_);
    turn_ = kScratch - turn_;  // two scratch areas in turn: one barrier is enough
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) sums[r] *= 1.0f / K::kHidden;
    write_dx(first, rstd, sums, at);
  }

  // Rows as they lie in registers.
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

  // Where the thread's vector lies in shared memory.
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

  // Hands over what was loaded for these rows, and loads for the next.
  __device__ __forceinline__ void take_rstd(mg::i64 first, float (&next)[kAtOnce],
                                            float (&to)[kAtOnce]) const {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) to[r] = next[r];
    load_rstd(first + kAtOnce * stride_, next);
  }

  __device__ __forceinline__ void process_from_shared(float* scratch) {
    constexpr int kAhead = K::kStages - 1;  // on their way while one stage is processed
    Copies copies;
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) {
      copy(first_row_ + stage * kAtOnce * stride_, stage, copies);
    }
    float next_rstd[kAtOnce];
    load_rstd(first_row_, next_rstd);
    int stage = 0;
    for (mg::i64 row = first_row_; row < in_.rows; row += kAtOnce * stride_) {
      // Into the stage that the last rows have left: each thread overwrites what it alone read.
      copy(row + kAhead * kAtOnce * stride_, stage == 0 ? kAhead : stage - 1, copies);
      float rstd[kAtOnce];
      take_rstd(row, next_rstd, rstd);
      copies.template wait<kAhead>();
      process(row, rstd, scratch, in_stage(stage));
      stage = stage == kAhead ? 0 : stage + 1;
    }
    copies.template wait<0>();
  }

  // The sums of one vector's columns, to global or shared memory.
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
  const mg::i64 first_row_, stride_;  // of the rows that the thread's group processes
  int turn_ = 0;
  float weight_[K::kElements];
  float dw_[K::kHasDw ? K::kElements : 1];
};

// The thread's part of its first rows into L2, and of the weights with row 0, while the grid before
// still runs.
template <class K>
__device__ __forceinline__ void prefetch_first_rows(
    const Gradients<typename K::T, typename K::W>& in, int first_column) {
  const int lane = static_cast<int>(threadIdx.x) % K::kThreadsPerRow;
  const mg::i64 stride = mg::i64{gridDim.x / K::kCluster} * K::kRowsPerBlock;
  mg::i64 row = mg::i64{blockIdx.x / K::kCluster} * K::kRowsPerBlock +
                static_cast<int>(threadIdx.x) / K::kThreadsPerRow;
  if (row == 0) {  // once: L2 has one place for it
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

// rmsnorm_backward_dw starts only now: it has nothing to fetch ahead, and before its blocks would
// take room that rows in work could have.
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

// dw from the partial sums of `parts` blocks; zero where there were none.
template <class W, int kHidden, int kThreads, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_backward_dw(const float* partials, W* __restrict__ dw, mg::i32 parts) {
  if constexpr (kPdl) {
    mg::wait_for_previous_grid();
    mg::let_next_grid_start();  // which fetches rows: during the rows before would be too early
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
