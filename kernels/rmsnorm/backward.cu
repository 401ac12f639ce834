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
//            itself, so that no barrier is needed for them). mg::sum adds up c, one barrier a row
//            and none up to 32 threads. At the end a block adds its row groups' sums for dw in
//            shared memory and writes one row of partial sums; rmsnorm_backward_dw adds these.
//            rmsnorm_backward_cluster cuts rows that are too wide for a block, or too few for all
//            blocks, into the slices of a cluster. Its warps leave their part of c in the shared
//            memory of every block, and while that travels finish the row before: one barrier of
//            the cluster a row, and nobody waits long at it.
// Traffic    reads 2 (3) * rows * hidden elements of T, writes rows * hidden, 4 * rows bytes of
//            rstd; 4 * hidden bytes of partial sums a block, written and read through L2.
// Work       10 * rows * hidden flops, below 2 flops a byte: bound by memory.
// Tunables   THREADS_PER_ROW  few: no barrier (<= 32), less to add up; many: fewer columns, hence
//                             registers, a thread
//            ROWS_PER_BLOCK   more rows in flight for the same partial sums; more to wait for at
//                             each barrier
//            VEC              elements per access; 16 bytes need the fewest instructions
//            STAGES           rows in flight; each costs registers, or shared memory
//            LOAD             ldg: into registers, serves any alignment; cp_async: 4 bytes and up
//            BLOCKS_PER_SM    more rows in flight, barriers overlap; fewer registers a thread, more
//                             partial sums
//            CLUSTER          blocks a row: more hold wider rows and spread few rows over more SMs;
//                             fewer rows are in flight at once
//            FINISH           launch: dw by a second kernel; dependent: one that is already there
//                             when this one ends; last_block: no second kernel, the block that ends
//                             last does it alone: for few partial sums
// Numerics   everything in fp32; dx and dw are rounded once. xhat is formed first, so that large x
//            with small rstd do not overflow. The order of additions is fixed by the parameters and
//            the size of the grid: runs give the same bits.

#include <mg/async_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/partial_sums.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class LOAD { ldg, cp_async };
enum class FINISH { launch, dependent, last_block };

// What the kernel is given. dresidual is null in rmsnorm.backward.
template <class T, class W>
struct Gradients {
  const T* __restrict__ dy;
  const T* __restrict__ x;
  const W* __restrict__ weight;
  const float* __restrict__ rstd;
  const T* __restrict__ dresidual;
  T* __restrict__ dx;
  W* __restrict__ dw;
  float* partials;
  mg::u32* tickets;
  mg::i64 rows, x_stride;
  float weight_offset;
};

// How the kernel was compiled, and what follows from it.
template <class T_, class W_, int kHidden_, int kThreadsPerRow_, int kRowsPerBlock_, int kVec_,
          int kStages_, LOAD kLoad_, int kCluster_, FINISH kFinish_, bool kHasDw_,
          bool kHasResidual_>
struct Tiling {
  using T = T_;
  using W = W_;
  using Vector = mg::Vec<T, kVec_>;
  static constexpr int kHidden = kHidden_, kVec = kVec_, kStages = kStages_;
  static constexpr int kThreadsPerRow = kThreadsPerRow_, kRowsPerBlock = kRowsPerBlock_;
  static constexpr LOAD kLoad = kLoad_;
  static constexpr int kCluster = kCluster_;
  static constexpr FINISH kFinish = kFinish_;
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
  static constexpr int kSlots = K::kCluster * K::kThreads / 32;  // a float of every warp
  static constexpr int kScratch = mg::sum_scratch_floats<K::kThreadsPerRow, K::kRowsPerBlock>();

  // `scratch` is 2 * kScratch floats of shared memory; first_column is the slice's.
  __device__ __forceinline__ Rows(const Gradients<T, W>& in, float* scratch, int first_column)
      : in_(in),
        first_column_(first_column),
        lane_(static_cast<int>(threadIdx.x) % K::kThreadsPerRow),
        group_(static_cast<int>(threadIdx.x) / K::kThreadsPerRow),
        scratch_(scratch) {
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

  __device__ __forceinline__ void process_all() {
    if constexpr (K::kLoad == LOAD::ldg) {
      process_from_registers();
    } else {
      process_from_shared();
    }
  }

  // As process_all() with cp_async, but a row's dx is written while the sum of the next one travels
  // through the cluster. `slots` is 2 * kSlots floats of shared memory.
  __device__ __forceinline__ void process_in_cluster(float* slots) {
    constexpr int kAhead = K::kStages - 2;
    static_assert(K::kRowsPerBlock == 1 && K::kLoad == LOAD::cp_async && kAhead >= 1);
    mg::AsyncCopies<K::kStages * K::kInputs * K::kSteps> copies;
    const mg::i64 first = first_row();
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) copy(first + stage * stride(), stage, copies);
    float next_rstd = rstd_of(first), last_rstd = 0.0f, mean = 0.0f;
    mg::cluster_arrive();
    mg::cluster_wait();  // all blocks run: their slots may be written
    int stage = 0, last_stage = 0, turn = 0;
    const auto write_last = [&](mg::i64 row) {
      write_dx(row, last_rstd, mean, [&](int input, int step) {
        return mg::load<K::kVec>(place(last_stage, input, step));
      });
    };
    mg::i64 row = first;
    for (; row < in_.rows; row += stride()) {
      const int free_stage = stage + kAhead < K::kStages ? stage + kAhead : stage - 2;
      copy(row + kAhead * stride(), free_stage, copies);
      const float rstd = next_rstd;
      next_rstd = rstd_of(row + stride());
      copies.template wait<kAhead>();
      const float sum = accumulate(row, rstd, [&](int input, int step) {
        return mg::load<K::kVec>(place(stage, input, step));
      });
      tell_cluster(sum, slots + turn);
      mg::cluster_arrive();
      if (row != first) write_last(row - stride());
      mg::cluster_wait();
      mean = total(slots + turn) * (1.0f / K::kHidden);
      turn = kSlots - turn;
      last_rstd = rstd;
      last_stage = stage;
      stage = stage == K::kStages - 1 ? 0 : stage + 1;
    }
    if (row != first) write_last(row - stride());
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

  __device__ __forceinline__ mg::i64 first_row() const {
    return mg::i64{blockIdx.x / K::kCluster} * K::kRowsPerBlock;
  }
  __device__ __forceinline__ mg::i64 stride() const {
    return mg::i64{gridDim.x / K::kCluster} * K::kRowsPerBlock;
  }

  __device__ __forceinline__ const T* source(int input, mg::i64 row) const {
    if (input == kDy) return in_.dy + row * K::kHidden + first_column_;
    if (input == kX) return in_.x + row * in_.x_stride + first_column_;
    return in_.dresidual + row * K::kHidden + first_column_;
  }

  // The thread's part of a row's sum(g * xhat), and of dw. at(input, step) is its vector of an
  // input. 0 behind the last row.
  template <class At>
  __device__ __forceinline__ float accumulate(mg::i64 row, float rstd, const At& at) {
    float sum = 0.0f;
    if (row >= in_.rows) return sum;
    for_each_vector<K>(lane_, [&](int step, int) {
      const Vector dy = at(kDy, step), x = at(kX, step);
#pragma unroll
      for (int i = 0; i < K::kVec; ++i) {
        const float product = mg::to_float(dy.data[i]) * (mg::to_float(x.data[i]) * rstd);
        if constexpr (K::kHasDw) dw_[step * K::kVec + i] += product;
        sum += product * weight_[step * K::kVec + i];
      }
    });
    return sum;
  }

  template <class At>
  __device__ __forceinline__ void write_dx(mg::i64 row, float rstd, float mean,
                                           const At& at) const {
    if (row >= in_.rows) return;
    T* const dx_row = in_.dx + row * K::kHidden + first_column_;
    for_each_vector<K>(lane_, [&](int step, int column) {
      const Vector dy = at(kDy, step), x = at(kX, step);
      Vector dresidual, dx;
      if constexpr (K::kHasResidual) dresidual = at(kDresidual, step);
#pragma unroll
      for (int i = 0; i < K::kVec; ++i) {
        const float g = mg::to_float(dy.data[i]) * weight_[step * K::kVec + i];
        float value = rstd * (g - mg::to_float(x.data[i]) * rstd * mean);
        if constexpr (K::kHasResidual) value += mg::to_float(dresidual.data[i]);
        dx.data[i] = mg::from_float<T>(value);
      }
      mg::store_streaming<K::kVec>(dx_row + column, dx);
    });
  }

  // One row. All threads of a block take part in the sum, those without a row too.
  template <class At>
  __device__ __forceinline__ void process(mg::i64 row, float rstd, const At& at) {
    const float sum = accumulate(row, rstd, at);
    // Two scratch areas in turn: one barrier a row is enough.
    const float mean = mg::sum<K::kThreadsPerRow>(sum, scratch_ + turn_) * (1.0f / K::kHidden);
    turn_ = kScratch - turn_;
    write_dx(row, rstd, mean, at);
  }

  // A row as it lies in registers.
  struct Loaded {
    Vector inputs[K::kInputs][K::kSteps];
    float rstd;
  };

  __device__ __forceinline__ void load(mg::i64 row, Loaded& to) const {
    if (row >= in_.rows) return;
    to.rstd = in_.rstd[row];
    for_each_vector<K>(lane_, [&](int step, int column) {
#pragma unroll
      for (int input = 0; input < K::kInputs; ++input) {
        to.inputs[input][step] =
            mg::load_hinted<K::kVec, mg::Cache::streaming>(source(input, row) + column);
      }
    });
  }

  // Whether a block goes on is asked of its first row: all its threads then meet in the sums.
  __device__ __forceinline__ void process_from_registers() {
    Loaded stages[K::kStages];
    mg::i64 first = first_row();
#pragma unroll
    for (int stage = 0; stage < K::kStages; ++stage) {
      load(first + group_ + stage * stride(), stages[stage]);
    }
    while (first < in_.rows) {
#pragma unroll
      for (int stage = 0; stage < K::kStages; ++stage) {
        if (first < in_.rows) {
          const Loaded& from = stages[stage];
          process(first + group_, from.rstd,
                  [&](int input, int step) { return from.inputs[input][step]; });
          load(first + group_ + K::kStages * stride(), stages[stage]);
        }
        first += stride();
      }
    }
  }

  // Where the thread's vector lies in shared memory.
  __device__ __forceinline__ T* place(int stage, int input, int step) const {
    const int at = (stage * K::kRowsPerBlock + group_) * K::kInputs + input;
    return mg::dynamic_shared<T>() + (at * K::kSteps + step) * K::kStep + lane_ * K::kVec;
  }

  template <class Copies>
  __device__ __forceinline__ void copy(mg::i64 row, int stage, Copies& copies) const {
    if (row < in_.rows) {
      for_each_vector<K>(lane_, [&](int step, int column) {
#pragma unroll
        for (int input = 0; input < K::kInputs; ++input) {
          copies.template copy<K::kVec* static_cast<int>(sizeof(T))>(place(stage, input, step),
                                                                     source(input, row) + column);
        }
      });
    }
    copies.end_group();
  }

  __device__ __forceinline__ float rstd_of(mg::i64 row) const {
    return row < in_.rows ? in_.rstd[row] : 0.0f;
  }

  __device__ __forceinline__ void process_from_shared() {
    constexpr int kAhead = K::kStages - 1;  // rows on their way while one is processed
    mg::AsyncCopies<K::kStages * K::kInputs * K::kSteps> copies;
    mg::i64 row = first_row() + group_;
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) copy(row + stage * stride(), stage, copies);
    float next_rstd = rstd_of(row);
    for (int stage = 0; row - group_ < in_.rows; row += stride()) {
      // Into the stage that the last row has left: each thread overwrites what it alone read.
      copy(row + kAhead * stride(), stage == 0 ? kAhead : stage - 1, copies);
      const float rstd = next_rstd;
      next_rstd = rstd_of(row + stride());
      copies.template wait<kAhead>();
      process(row, rstd,
              [&](int input, int step) { return mg::load<K::kVec>(place(stage, input, step)); });
      stage = stage == kAhead ? 0 : stage + 1;
    }
    copies.template wait<0>();
  }

  // A warp's part of the sum, to every block of the cluster.
  __device__ __forceinline__ void tell_cluster(float sum, float* slots) const {
    const mg::u32 warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
    sum = mg::sum_of_lanes<32>(sum);
    if (lane < K::kCluster) {
      mg::store_to_block(&slots[mg::cluster_rank() * (K::kThreads / 32) + warp], lane, sum);
    }
  }

  __device__ __forceinline__ float total(const float* slots) const {
    float sum = 0.0f;
#pragma unroll
    for (int slot = static_cast<int>(threadIdx.x) % 32; slot < kSlots; slot += 32) {
      sum += slots[slot];
    }
    return mg::sum_of_lanes<32>(sum);
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
  float* const scratch_;
  int turn_ = 0;
  float weight_[K::kElements];
  float dw_[K::kHasDw ? K::kElements : 1];
};

// 32 columns of dw.
template <class W, int kHidden, int kThreads>
__device__ __forceinline__ void write_dw(const float* partials, mg::i32 parts, mg::i64 first_column,
                                         W* dw, float* scratch) {
  constexpr mg::i64 kPartialRow = (kHidden + 3) / 4 * 4;
  const float total =
      mg::sum_partials<kThreads>(partials, parts, kPartialRow, first_column, scratch);
  const mg::i64 column = first_column + threadIdx.x;
  if (threadIdx.x < mg::kPartialSumColumns && column < kHidden) {
    dw[column] = mg::from_float<W>(total);
  }
}

// In the block that ends last, once its threads see everybody's partial sums.
template <class K>
__device__ __forceinline__ void write_dw_if_last(
    const Gradients<typename K::T, typename K::W>& in) {
  MG_SHARED(float, scratch, [mg::kPartialSumScratch<K::kThreads>]);
  MG_SHARED(bool, is_last);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(in.tickets, 1u) == gridDim.x - 1;
    if (is_last) *in.tickets = 0;  // as the next launch wants to find it
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int column = 0; column < K::kHidden; column += mg::kPartialSumColumns) {
    write_dw<typename K::W, K::kHidden, K::kThreads>(in.partials, static_cast<mg::i32>(gridDim.x),
                                                     column, in.dw, scratch);
    __syncthreads();
  }
}

template <class K>
__device__ __forceinline__ void backward(const Gradients<typename K::T, typename K::W>& in) {
  if constexpr (K::kFinish == FINISH::dependent) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  MG_SHARED(float, scratch, [2 * Rows<K>::kScratch]);
  Rows<K> rows(in, scratch, 0);
  rows.process_all();
  if constexpr (K::kHasDw) {
    rows.write_partials();
    if constexpr (K::kFinish == FINISH::last_block) write_dw_if_last<K>(in);
  }
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kVec,
          int kStages, LOAD kLoad, int kBlocksPerSm, FINISH kFinish, bool kHasDw>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock, kBlocksPerSm)
    rmsnorm_backward(const T* __restrict__ dy, const T* __restrict__ x,
                     const W* __restrict__ weight, const float* __restrict__ rstd,
                     T* __restrict__ dx, W* __restrict__ dw, float* partials, mg::u32* tickets,
                     mg::i64 rows, mg::i64 x_stride, float weight_offset) {
  backward<Tiling<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kVec, kStages, kLoad, 1, kFinish,
                  kHasDw, false>>(
      {dy, x, weight, rstd, nullptr, dx, dw, partials, tickets, rows, x_stride, weight_offset});
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kVec,
          int kStages, LOAD kLoad, int kBlocksPerSm, FINISH kFinish, bool kHasDw>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock, kBlocksPerSm)
    rmsnorm_add_backward(const T* __restrict__ dy, const T* __restrict__ s,
                         const W* __restrict__ weight, const float* __restrict__ rstd,
                         const T* __restrict__ dresidual, T* __restrict__ dx, W* __restrict__ dw,
                         float* partials, mg::u32* tickets, mg::i64 rows, mg::i64 s_stride,
                         float weight_offset) {
  backward<Tiling<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kVec, kStages, kLoad, 1, kFinish,
                  kHasDw, true>>(
      {dy, s, weight, rstd, dresidual, dx, dw, partials, tickets, rows, s_stride, weight_offset});
}

template <class K>
__device__ __forceinline__ void backward_in_cluster(
    const Gradients<typename K::T, typename K::W>& in) {
  if constexpr (K::kFinish == FINISH::dependent) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  MG_SHARED(float, slots, [2 * Rows<K>::kSlots]);
  Rows<K> rows(in, nullptr, static_cast<int>(mg::cluster_rank()) * K::kSlice);
  rows.process_in_cluster(slots);
  if constexpr (K::kHasDw) rows.write_partials();
}

template <class T, class W, int kHidden, int kThreads, int kVec, int kStages, int kCluster,
          int kBlocksPerSm, FINISH kFinish, bool kHasDw>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_backward_cluster(const T* __restrict__ dy, const T* __restrict__ x,
                             const W* __restrict__ weight, const float* __restrict__ rstd,
                             T* __restrict__ dx, float* partials, mg::i64 rows, mg::i64 x_stride,
                             float weight_offset) {
  backward_in_cluster<Tiling<T, W, kHidden, kThreads, 1, kVec, kStages, LOAD::cp_async, kCluster,
                             kFinish, kHasDw, false>>({dy, x, weight, rstd, nullptr, dx, nullptr,
                                                       partials, nullptr, rows, x_stride,
                                                       weight_offset});
}

template <class T, class W, int kHidden, int kThreads, int kVec, int kStages, int kCluster,
          int kBlocksPerSm, FINISH kFinish, bool kHasDw>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    rmsnorm_add_backward_cluster(const T* __restrict__ dy, const T* __restrict__ s,
                                 const W* __restrict__ weight, const float* __restrict__ rstd,
                                 const T* __restrict__ dresidual, T* __restrict__ dx,
                                 float* partials, mg::i64 rows, mg::i64 s_stride,
                                 float weight_offset) {
  backward_in_cluster<Tiling<T, W, kHidden, kThreads, 1, kVec, kStages, LOAD::cp_async, kCluster,
                             kFinish, kHasDw, true>>({dy, s, weight, rstd, dresidual, dx, nullptr,
                                                      partials, nullptr, rows, s_stride,
                                                      weight_offset});
}

// dw from the partial sums of `parts` blocks; zero where there were none.
template <class W, int kHidden, int kThreads, bool kIsDependent>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_backward_dw(const float* partials, W* __restrict__ dw, mg::i32 parts) {
  if constexpr (kIsDependent) mg::wait_for_previous_grid();
  MG_SHARED(float, scratch, [mg::kPartialSumScratch<kThreads>]);
  write_dw<W, kHidden, kThreads>(partials, parts, mg::i64{blockIdx.x} * mg::kPartialSumColumns, dw,
                                 scratch);
}
