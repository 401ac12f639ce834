// rmsnorm.forward      y[r, c] = x[r, c] * rstd[r] * (weight_offset + weight[c])
//                      rstd[r] = 1 / sqrt(mean(x[r, :]^2) + eps)
// rmsnorm.add_forward  s = x + residual, rounded to T, is written as residual_out; y and rstd are
//                      those of s
//
// Algorithm  the threads of a row step over it together, VEC elements each, so that a step reads
//            consecutive addresses. Each thread sums its squares, a tree adds the threads' sums
//            (shuffles inside a warp, one round through shared memory above, one through the
//            shared memory of the others in a cluster), and a second walk over the same columns
//            scales and writes. Rows past the end join the sum and neither read nor write.
//            Design row: THREADS_PER_ROW threads hold ROWS_PER_THREAD rows in registers; cluster:
//            the blocks of a cluster hold one; reread: x is read again after the sum; bulk: the
//            copy engine brings a row, or a block's part of it, into shared memory. Design stream
//            has a source of its own, forward_stream.cu.
// Traffic    reads rows * hidden elements of T (add_forward: twice that) and hidden of W, writes
//            rows * hidden (twice), and 4 * rows bytes when rstd is wanted; weight is read once a
//            row, from the caches. reread: the second read of x comes from L1 or L2 or not.
// Work       4 * rows * hidden flops (5), 1 flop per byte or less: bound by memory.
// Tunables   THREADS_PER_ROW  few: no barrier (<= 32) and many rows in flight; many: less to hold
//                             per thread, more loads in flight when there are few rows
//            ROWS_PER_BLOCK   fills a block when a row needs few threads; idle when rows run out
//            ROWS_PER_THREAD  rows that a group of threads has in flight at once, weight in common
//            CLUSTER, THREADS blocks of a row and their threads: few wide rows keep
//                             all SMs busy
//            VEC              elements per load; 16 bytes need the fewest instructions, less
//                             serves odd sizes, strides and pointers
//            LOAD, STORE      how long the caches keep x and residual, y and residual_out
//            WEIGHT           early: loaded with x, so that its latency is that of x, and held;
//                             late: loaded after the sum, no registers
//            PDL              starts while the grid before it ends; as many of its blocks as run at
//                             once prefetch their first rows into L2 until they may read them: the
//                             memory has work in the tail of one grid and the start of the next
// Numerics   squares, sum and scale in fp32; a thread adds at most 512 squares, VEC at a time; y
//            is rounded once, at the end. The sum of squares must stay finite in fp32: |x| below
//            3e16 is safe for every hidden. The order of additions depends on the parameters,
//            never on the run. residual_out may be the memory of residual; no other output may
//            overlap anything.

#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/row_norm.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using LOAD = mg::Cache;
using STORE = mg::Cache;

// What a variant fixes. The threads of a row are kThreadsPerRow of each block of its cluster.
template <class T_, class W_, int kHidden_, int kThreadsPerRow_, int kRowsPerBlock_,
          int kRowsPerThread_, int kCluster_, int kVec_, bool kHeld_, LOAD kLoad_, STORE kStore_,
          bool kEarly_, int kPdlBlocks_>
struct Shape {
  using T = T_;
  using W = W_;
  static constexpr int kHidden = kHidden_, kThreadsPerRow = kThreadsPerRow_,
                       kRowsPerBlock = kRowsPerBlock_, kRowsPerThread = kRowsPerThread_,
                       kCluster = kCluster_, kVec = kVec_;
  static constexpr bool kHeld = kHeld_, kEarly = kEarly_;
  static constexpr int kPdlBlocks = kPdlBlocks_;
  static constexpr LOAD kLoad = kLoad_;
  static constexpr STORE kStore = kStore_;

  static constexpr int kThreads = kThreadsPerRow * kRowsPerBlock;
  static constexpr int kStep = kThreadsPerRow * kCluster * kVec;  // columns covered at once
  static constexpr int kSteps = (kHidden + kStep - 1) / kStep;
  static constexpr int kUnroll = kHeld ? kSteps : 4;
  // Of residual: no_allocate was never measured there.
  static constexpr LOAD kLoadOfResidual = kLoad == LOAD::no_allocate ? LOAD::streaming : kLoad;

  // Registers that hold data while the sum is on its way. Where these leave room, 1024 threads an
  // SM are asked for, which is 64 registers each: the compiler takes a few more without need.
  static constexpr int kHeldRegisters =
      kHeld ? kSteps * kVec *
                  static_cast<int>(kRowsPerThread * sizeof(T) + (kEarly ? sizeof(W) : 0)) / 4
            : 0;

  static_assert(kVec * sizeof(T) <= 16, "one load is at most 16 bytes");
  static_assert(kHidden % kVec == 0, "every row begins on a whole vector");
  static_assert(kThreads >= 32 && kThreads <= 1024, "a block is 1 to 32 warps");
  static_assert(kSteps * kVec * kRowsPerThread <= (kHeld ? 64 : 512), "too much for one thread");
  static_assert(kHeld || (!kEarly && kRowsPerThread == 1), "rereading holds nothing");
  static_assert(kRowsPerThread == 1 || kThreadsPerRow <= 32, "one sum at a time in shared memory");
  static_assert(kCluster == 1 || kRowsPerBlock * kRowsPerThread == 1, "a cluster has one row");
};

// Calls visit(step, column) for each vector of a row that the thread `lane` of it owns. Only the
// last step can lie partly outside, so that only it is guarded: the others' loads go out together.
template <class S, class Visit>
__device__ __forceinline__ void for_each_vector(int lane, const Visit& visit) {
  constexpr int kWholeSteps = S::kHidden / S::kStep;
#pragma unroll S::kUnroll
  for (int step = 0; step < kWholeSteps; ++step) visit(step, step * S::kStep + lane * S::kVec);
  if constexpr (S::kHidden % S::kStep != 0) {
    const int column = kWholeSteps * S::kStep + lane * S::kVec;
    if (column < S::kHidden) visit(kWholeSteps, column);
  }
}

// The sum over a row's threads.
template <class S>
__device__ __forceinline__ float row_sum(float value) {
  if constexpr (S::kCluster > 1) {
    MG_SHARED(float, slots, [mg::cluster_sum_floats<S::kThreads, S::kCluster>()]);
    return mg::cluster_sum<S::kThreads, S::kCluster>(value, slots);
  } else {
    MG_SHARED(float, scratch, [mg::sum_scratch_floats<S::kThreadsPerRow, S::kRowsPerBlock>()]);
    return mg::sum<S::kThreadsPerRow>(value, scratch);
  }
}

// Tensors of a launch; residual and residual_out are null in rmsnorm.forward.
template <class S>
struct Tensors {
  const typename S::T* x;
  const typename S::T* residual;
  const typename S::W* weight;
  typename S::T* y;
  typename S::T* residual_out;
  float* rstd;
};

// The rows of a thread, held in registers: first_row and, so that its neighbours' rows lie beside
// each of them, every kRowsPerBlock-th after it.
template <class S, bool kAdd>
__device__ __forceinline__ void normalize_held(const Tensors<S>& at, int lane, mg::i64 first_row,
                                               mg::i64 rows, mg::i64 x_stride, float eps,
                                               float weight_offset, float* scales) {
  using T = typename S::T;
  using W = typename S::W;
  constexpr int kVec = S::kVec, kRows = S::kRowsPerThread;

  mg::Vec<T, kVec> held[kRows][S::kSteps];
  mg::Vec<T, kVec> added[kAdd ? kRows : 1][kAdd ? S::kSteps : 1];
  mg::Pieces<W, kVec> weight[S::kEarly ? S::kSteps : 1];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const mg::i64 row = first_row + i * S::kRowsPerBlock;
    if (row >= rows) continue;
    for_each_vector<S>(lane, [&](int step, int column) {
      held[i][step] = mg::load_hinted<kVec, S::kLoad>(at.x + row * x_stride + column);
      if constexpr (kAdd) {
        added[i][step] =
            mg::load_hinted<kVec, S::kLoadOfResidual>(at.residual + row * S::kHidden + column);
      }
    });
  }
  if constexpr (S::kEarly) {
    for_each_vector<S>(lane, [&](int step, int column) {
      weight[step] = mg::load_pieces<kVec>(at.weight + column);
    });
  }

  float squares[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const mg::i64 row = first_row + i * S::kRowsPerBlock;
    squares[i] = 0.0f;
    if (row >= rows) continue;
    for_each_vector<S>(lane, [&](int step, int column) {
      if constexpr (kAdd) {
        held[i][step] = mg::sum_of(held[i][step], added[i][step]);
        mg::store_hinted<kVec, S::kStore>(at.residual_out + row * S::kHidden + column,
                                          held[i][step]);
      }
      squares[i] += mg::sum_of_squares(held[i][step]);
    });
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    scales[i] = mg::rsqrt(row_sum<S>(squares[i]) * (1.0f / S::kHidden) + eps);
  }

#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const mg::i64 row = first_row + i * S::kRowsPerBlock;
    if (row >= rows) continue;
    for_each_vector<S>(lane, [&](int step, int column) {
      mg::Pieces<W, kVec> w;
      if constexpr (S::kEarly) {
        w = weight[step];
      } else {
        w = mg::load_pieces<kVec>(at.weight + column);
      }
      mg::store_hinted<kVec, S::kStore>(at.y + row * S::kHidden + column,
                                        mg::scaled(held[i][step], w, weight_offset, scales[i]));
    });
  }
}

// One row, read again after the sum: what is read again, x or residual_out, is left in the caches
// the first time and given up the second.
template <class S, bool kAdd>
__device__ __forceinline__ void normalize_reread(const Tensors<S>& at, int lane, mg::i64 row,
                                                 mg::i64 rows, mg::i64 x_stride, float eps,
                                                 float weight_offset, float* scales) {
  using T = typename S::T;
  constexpr int kVec = S::kVec;
  const bool active = row < rows;
  const T* const x_row = at.x + (active ? row : 0) * x_stride;
  const mg::i64 first = (active ? row : 0) * S::kHidden;

  float squares = 0.0f;
  if (active) {
    for_each_vector<S>(lane, [&](int, int column) {
      mg::Vec<T, kVec> value;
      if constexpr (kAdd) {
        value = mg::sum_of(mg::load<kVec>(x_row + column),
                           mg::load_hinted<kVec, S::kLoad>(at.residual + first + column));
        mg::store_hinted<kVec, STORE::normal>(at.residual_out + first + column, value);
      } else {
        value = mg::load<kVec>(x_row + column);
      }
      squares += mg::sum_of_squares(value);
    });
  }
  scales[0] = mg::rsqrt(row_sum<S>(squares) * (1.0f / S::kHidden) + eps);
  if (active) {
    for_each_vector<S>(lane, [&](int, int column) {
      const T* const again = kAdd ? at.residual_out + first + column : x_row + column;
      const mg::Vec<T, kVec> value = mg::load_hinted<kVec, S::kLoad>(again);
      mg::store_hinted<kVec, S::kStore>(
          at.y + first + column,
          mg::scaled(value, mg::load_pieces<kVec>(at.weight + column), weight_offset, scales[0]));
    });
  }
}

template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize(const Tensors<S>& at, mg::i64 rows, mg::i64 x_stride,
                                          float eps, float weight_offset) {
  int lane = static_cast<int>(threadIdx.x) % S::kThreadsPerRow;
  if constexpr (S::kCluster > 1) {
    mg::cluster_arrive();
    lane += static_cast<int>(mg::cluster_rank()) * S::kThreadsPerRow;
  }
  const mg::i64 first_row =
      mg::i64{blockIdx.x / S::kCluster} * (S::kRowsPerBlock * S::kRowsPerThread) +
      static_cast<int>(threadIdx.x) / S::kThreadsPerRow;
  if constexpr (S::kPdlBlocks > 0) {
    mg::let_next_grid_start();
    if (blockIdx.x < S::kPdlBlocks && first_row < rows) {
      for_each_vector<S>(lane, [&](int, int column) {
        mg::prefetch_to_l2(at.x + first_row * x_stride + column);
        if constexpr (kAdd) mg::prefetch_to_l2(at.residual + first_row * S::kHidden + column);
        if (first_row == 0) {  // once: L2 has one place for it
          mg::prefetch_to_l2(at.weight + column);
        }
      });
    }
    mg::wait_for_previous_grid();
  }
  float scales[S::kRowsPerThread];
  if constexpr (S::kHeld) {
    normalize_held<S, kAdd>(at, lane, first_row, rows, x_stride, eps, weight_offset, scales);
  } else {
    normalize_reread<S, kAdd>(at, lane, first_row, rows, x_stride, eps, weight_offset, scales);
  }
  if constexpr (kHasRstd) {
#pragma unroll
    for (int i = 0; i < S::kRowsPerThread; ++i) {
      const mg::i64 row = first_row + i * S::kRowsPerBlock;
      if (lane == 0 && row < rows) at.rstd[row] = scales[i];
    }
  }
}

// What a variant of the design bulk fixes. Each block of a cluster has its slice of the row.
template <class T_, class W_, int kHidden, int kCluster_, int kThreads_, STORE kStore_,
          bool kEarly_, int kPdlBlocks_>
struct BulkShape {
  using T = T_;
  using W = W_;
  static constexpr int kCluster = kCluster_, kThreads = kThreads_;
  static constexpr int kVec = static_cast<int>(16 / sizeof(T));
  static constexpr int kSlice = kHidden / kCluster;  // elements
  static constexpr int kSteps = (kSlice + kThreads * kVec - 1) / (kThreads * kVec);
  static constexpr bool kEarly = kEarly_;
  static constexpr STORE kStore = kStore_;
  static constexpr int kThreadsPerRow = kThreads, kRowsPerBlock = 1;  // of row_sum
  static constexpr float kInverse = 1.0f / kHidden;
  static constexpr int kPdlBlocks = kPdlBlocks_;

  static_assert(kHidden % (kCluster * kVec) == 0, "slices are copied in units of 16 bytes");
  static_assert(!kEarly || kSteps * kVec <= 64, "too much for one thread");
  static_assert(kSteps <= 32 && kSteps <= kThreads, "each copy of a step is a thread's");
};

// Calls visit(step, column) for each vector of the block's slice that this thread owns.
template <class S, class Visit>
__device__ __forceinline__ void for_each_of_slice(const Visit& visit) {
  constexpr int kStep = S::kThreads * S::kVec;
#pragma unroll
  for (int step = 0; step < S::kSteps; ++step) {
    const int column = step * kStep + static_cast<int>(threadIdx.x) * S::kVec;
    if ((step + 1) * kStep <= S::kSlice || column < S::kSlice) visit(step, column);
  }
}

// One row of a cluster.
template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize_bulk(const Tensors<S>& at, mg::i64 hidden,
                                               mg::i64 x_stride, float eps, float weight_offset) {
  using T = typename S::T;
  using W = typename S::W;
  constexpr int kVec = S::kVec;
  T* const held = mg::dynamic_shared<T>();
  T* const added = held + S::kSlice;
  MG_SHARED(mg::CopyBarrier, arrived, [S::kSteps]);  // what a step of all threads reads

  const mg::i64 row = blockIdx.x / S::kCluster;
  mg::i64 from = 0;
  if constexpr (S::kCluster > 1) from = mg::i64{mg::cluster_rank()} * S::kSlice;
  if constexpr (S::kPdlBlocks > 0) {
    mg::let_next_grid_start();
    if (threadIdx.x == 0 && blockIdx.x < S::kPdlBlocks) {
      constexpr unsigned int kBytes = S::kSlice * sizeof(T);
      mg::bulk_prefetch_to_l2(at.x + row * x_stride + from, kBytes);
      if constexpr (kAdd) mg::bulk_prefetch_to_l2(at.residual + row * hidden + from, kBytes);
    }
    mg::wait_for_previous_grid();
  }
  if (threadIdx.x < S::kSteps) {
    constexpr int kStep = S::kThreads * kVec;
    const int step = static_cast<int>(threadIdx.x), column = step * kStep;
    const int count = S::kSlice - column < kStep ? S::kSlice - column : kStep;
    const unsigned int bytes = static_cast<unsigned int>(count) * sizeof(T);
    mg::init(arrived[step], 1);
    mg::publish_init();
    mg::arrive_expecting(arrived[step], bytes * (kAdd ? 2 : 1));
    mg::bulk_load(held + column, at.x + row * x_stride + from + column, bytes, arrived[step]);
    if constexpr (kAdd) {
      mg::bulk_load(added + column, at.residual + row * hidden + from + column, bytes,
                    arrived[step]);
    }
  }
  if constexpr (S::kCluster > 1) mg::cluster_arrive();

  mg::Pieces<W, kVec> weight[S::kEarly ? S::kSteps : 1];
  if constexpr (S::kEarly) {
    for_each_of_slice<S>([&](int step, int column) {
      weight[step] = mg::load_pieces<kVec>(at.weight + from + column);
    });
  }
  __syncthreads();  // the barriers of the copies are there for all

  float squares = 0.0f;
  for_each_of_slice<S>([&](int step, int column) {
    mg::wait(arrived[step], 0);
    mg::Vec<T, kVec> value = mg::load<kVec>(held + column);
    if constexpr (kAdd) {
      value = mg::sum_of(value, mg::load<kVec>(added + column));
      mg::store_hinted<kVec, S::kStore>(at.residual_out + row * hidden + from + column, value);
      mg::store<kVec>(held + column, value);
    }
    squares += mg::sum_of_squares(value);
  });
  const float scale = mg::rsqrt(row_sum<S>(squares) * S::kInverse + eps);
  for_each_of_slice<S>([&](int step, int column) {
    mg::Pieces<W, kVec> w;
    if constexpr (S::kEarly) {
      w = weight[step];
    } else {
      w = mg::load_pieces<kVec>(at.weight + from + column);
    }
    mg::store_hinted<kVec, S::kStore>(
        at.y + row * hidden + from + column,
        mg::scaled(mg::load<kVec>(held + column), w, weight_offset, scale));
  });
  if constexpr (kHasRstd) {
    if (threadIdx.x == 0 && from == 0) at.rstd[row] = scale;
  }
}

// Blocks an SM that are asked for, so that registers do not exceed 64; 0 asks for nothing.
__host__ __device__ constexpr int blocks_asked_for(int held_registers, int threads) {
  return held_registers > 32 ? 0 : threads >= 64 ? 1024 / threads : 16;
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kRowsPerThread,
          int kCluster, int kVec, bool kHeld, LOAD kLoad, STORE kStore, bool kEarly, int kPdlBlocks,
          bool kHasRstd>
__global__ void __launch_bounds__(
    kThreadsPerRow* kRowsPerBlock,
    blocks_asked_for(Shape<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kRowsPerThread, kCluster,
                           kVec, kHeld, kLoad, kStore, kEarly, kPdlBlocks>::kHeldRegisters,
                     kThreadsPerRow* kRowsPerBlock))
    rmsnorm_forward(const T* x, const W* weight, T* __restrict__ y, float* __restrict__ rstd,
                    mg::i64 rows, mg::i64 x_stride, float eps, float weight_offset) {
  using S = Shape<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kRowsPerThread, kCluster, kVec,
                  kHeld, kLoad, kStore, kEarly, kPdlBlocks>;
  const Tensors<S> tensors{x, nullptr, weight, y, nullptr, rstd};
  normalize<S, false, kHasRstd>(tensors, rows, x_stride, eps, weight_offset);
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kRowsPerThread,
          int kCluster, int kVec, bool kHeld, LOAD kLoad, STORE kStore, bool kEarly, int kPdlBlocks,
          bool kHasRstd>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock)
    rmsnorm_add_forward(const T* x, const T* residual, const W* weight, T* __restrict__ y,
                        T* residual_out, float* __restrict__ rstd, mg::i64 rows, mg::i64 x_stride,
                        float eps, float weight_offset) {
  using S = Shape<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kRowsPerThread, kCluster, kVec,
                  kHeld, kLoad, kStore, kEarly, kPdlBlocks>;
  const Tensors<S> tensors{x, residual, weight, y, residual_out, rstd};
  normalize<S, true, kHasRstd>(tensors, rows, x_stride, eps, weight_offset);
}

template <class T, class W, int kHidden, int kCluster, int kThreads, STORE kStore, bool kEarly,
          int kPdlBlocks, bool kHasRstd>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_forward_bulk(const T* x, const W* weight, T* __restrict__ y, float* __restrict__ rstd,
                         mg::i64 x_stride, float eps, float weight_offset) {
  using S = BulkShape<T, W, kHidden, kCluster, kThreads, kStore, kEarly, kPdlBlocks>;
  const Tensors<S> tensors{x, nullptr, weight, y, nullptr, rstd};
  normalize_bulk<S, false, kHasRstd>(tensors, kHidden, x_stride, eps, weight_offset);
}

template <class T, class W, int kHidden, int kCluster, int kThreads, STORE kStore, bool kEarly,
          int kPdlBlocks, bool kHasRstd>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_add_forward_bulk(const T* x, const T* residual, const W* weight, T* __restrict__ y,
                             T* residual_out, float* __restrict__ rstd, mg::i64 x_stride, float eps,
                             float weight_offset) {
  using S = BulkShape<T, W, kHidden, kCluster, kThreads, kStore, kEarly, kPdlBlocks>;
  const Tensors<S> tensors{x, residual, weight, y, residual_out, rstd};
  normalize_bulk<S, true, kHasRstd>(tensors, kHidden, x_stride, eps, weight_offset);
}
