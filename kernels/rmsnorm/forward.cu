// rmsnorm.forward      y[r, c] = x[r, c] * rstd[r] * (weight_offset + weight[c])
//                      rstd[r] = 1 / sqrt(mean(x[r, :]^2) + eps)
// rmsnorm.add_forward  s = x + residual is rounded to T and written as residual_out. Then y and
//                      rstd are computed from s.
//
// The plain version: one thread normalizes one row.
//
//   __global__ void rmsnorm(const T* x, const T* weight, T* y, float* rstd, int rows, int hidden,
//                           float eps, float weight_offset) {
//     int row = blockIdx.x * blockDim.x + threadIdx.x;
//     if (row >= rows) return;
//     float squares = 0;
//     for (int c = 0; c < hidden; c++) {
//       float v = x[row * hidden + c];
//       squares += v * v;
//     }
//     float scale = rsqrt(squares / hidden + eps);
//     rstd[row] = scale;
//     for (int c = 0; c < hidden; c++) {
//       y[row * hidden + c] = (float)x[row * hidden + c] * scale * (weight_offset + weight[c]);
//     }
//   }
//
// It is slow: the threads of a warp read addresses that are a row apart, it reads x twice, and a
// few rows keep only a few threads busy.
//
// Algorithm  The threads of a row step over it together and each loads VEC elements per step. So
//            one step reads consecutive addresses.
//            Each thread adds up its squares. A fixed tree then adds the threads' sums: shuffles
//            inside a warp, shared memory between warps, the shared memory of the other blocks
//            between the blocks of a cluster.
//            A second walk over the same columns scales and writes them.
//            Rows past the end take part in the sum, but do not read or write.
//            Four designs differ in where a row stays between the two walks:
//              row      THREADS_PER_ROW threads hold ROWS_PER_THREAD rows in registers. This saves
//                       the second read of x.
//              cluster  The blocks of a cluster hold one row in registers. Rows can be wider.
//              bulk     The copy engine brings a row, or each block's part of it, into shared
//                       memory. Loads in flight need no registers.
//              reread   Nothing is held; x is read again after the sum. Any width works.
//            The fifth design, stream, has its own source: forward_stream.cu.
// Traffic    It reads rows * hidden elements of T (add_forward: twice as many) and hidden elements
//            of W. It writes rows * hidden elements (add_forward: twice as many), and 4 * rows
//            bytes if rstd is wanted. Each row reads weight again, from the caches. With reread
//            the second read of x comes from L1 or L2 if the row is still there.
// Work       4 * rows * hidden flops (add_forward: 5), 1 flop per byte or less. The kernel is bound
//            by memory.
// Tunables   THREADS_PER_ROW  Up to 32 threads need no barrier, and many rows are in flight. More
//                             threads hold less each, and load more at once if there are few rows.
//            ROWS_PER_BLOCK   More rows fill a block if a row needs few threads. The last block
//                             idles more if rows run out.
//            ROWS_PER_THREAD  The number of rows that a group of threads loads at once. They share
//                             one load of weight, and cost registers.
//            CLUSTER, THREADS The blocks of a row and their threads. They keep all SMs busy if
//                             there are few wide rows.
//            VEC              The elements of a load. 16 bytes need the fewest instructions; fewer
//                             bytes serve odd sizes, strides and pointers.
//            LOAD, STORE      How long the caches keep x and residual, y and residual_out.
//            WEIGHT           early: weight is loaded together with x and held, so the two
//                             latencies overlap. late: weight is loaded after the sum, and needs no
//                             registers until then.
//            PDL              The grid starts while the grid before it ends. As many blocks as run
//                             at once prefetch their first rows into L2 until they may read them.
//                             So the memory has work while one grid ends and the next one starts.
// Numerics   Squares, sum and scale are fp32. A thread adds at most 512 squares, VEC at a time. y
//            is rounded once, at the end. The sum of squares must stay finite in fp32: |x| below
//            3e16 is safe for every hidden. The order of the additions depends on the parameters,
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

// The constants of a variant. A row has kThreadsPerRow threads in each block of its cluster.
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
  // The hint for residual. no_allocate was never measured for it, so streaming stands in.
  static constexpr LOAD kLoadOfResidual = kLoad == LOAD::no_allocate ? LOAD::streaming : kLoad;

  // The registers that hold data while the sum is computed. If they leave room, the launch bounds
  // ask for 1024 threads per SM, which is 64 registers per thread. Otherwise the compiler takes a
  // few more than it needs.
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

// Calls visit(step, column) for each vector that thread `lane` owns in a row. Only the last step
// can reach past the end of the row, so only the last step is guarded. The loads of the other steps
// are then issued together.
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

// Returns the sum of `value` over the threads of a row.
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

// The tensors of a launch. residual and residual_out are null in rmsnorm.forward.
template <class S>
struct Tensors {
  const typename S::T* x;
  const typename S::T* residual;
  const typename S::W* weight;
  typename S::T* y;
  typename S::T* residual_out;
  float* rstd;
};

// Normalizes the rows of a thread and holds them in registers. The rows are first_row and every
// kRowsPerBlock-th row after it, so that neighbouring groups always work on neighbouring rows.
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

// Normalizes one row and reads it again after the sum. The tensor that is read twice is x, or
// residual_out for add_forward. Its first access leaves it in the caches; the second access lets
// the caches drop it (LOAD).
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
        if (first_row == 0) {  // If every block prefetched it, the requests would queue in L2.
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

// The constants of a variant of design bulk. Each block of a cluster has one slice of the row.
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
  static constexpr int kThreadsPerRow = kThreads, kRowsPerBlock = 1;  // row_sum() reads these
  static constexpr float kInverse = 1.0f / kHidden;
  static constexpr int kPdlBlocks = kPdlBlocks_;

  static_assert(kHidden % (kCluster * kVec) == 0, "slices are copied in units of 16 bytes");
  static_assert(!kEarly || kSteps * kVec <= 64, "too much for one thread");
  static_assert(kSteps <= 32 && kSteps <= kThreads, "each copy of a step is a thread's");
};

// Calls visit(step, column) for each vector that this thread owns in the block's slice.
template <class S, class Visit>
__device__ __forceinline__ void for_each_of_slice(const Visit& visit) {
  constexpr int kStep = S::kThreads * S::kVec;
#pragma unroll
  for (int step = 0; step < S::kSteps; ++step) {
    const int column = step * kStep + static_cast<int>(threadIdx.x) * S::kVec;
    if ((step + 1) * kStep <= S::kSlice || column < S::kSlice) visit(step, column);
  }
}

// Normalizes the row of a cluster.
template <class S, bool kAdd, bool kHasRstd>
__device__ __forceinline__ void normalize_bulk(const Tensors<S>& at, mg::i64 hidden,
                                               mg::i64 x_stride, float eps, float weight_offset) {
  using T = typename S::T;
  using W = typename S::W;
  constexpr int kVec = S::kVec;
  T* const held = mg::dynamic_shared<T>();
  T* const added = held + S::kSlice;
  MG_SHARED(mg::CopyBarrier, arrived, [S::kSteps]);  // one for the data of each step

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
  __syncthreads();  // now every thread sees the initialized barriers of the copies

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

// The blocks per SM in the launch bounds, so that a thread gets at most 64 registers. 0 asks for
// nothing.
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
