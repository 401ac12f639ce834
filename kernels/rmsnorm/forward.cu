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
//            PDL              The grid starts while the previous grid ends. As many blocks as run
//                             at once prefetch their first rows into L2 until they may read them.
//                             So the memory has work while one grid ends and the next one starts.
// Numerics   Squares, sum and scale are fp32. A thread adds at most 512 squares, VEC at a time. y
//            is rounded once, at the end. The sum of squares must stay finite in fp32: |x| below
//            3e16 is safe for every hidden. The order of the additions depends on the parameters,
//            never on the run. residual_out may be the memory of residual; no other output may
//            overlap anything.

#include <mg/types.cuh>

#include "forward_bulk.cuh"
#include "forward_rows.cuh"

// The blocks per SM for the launch bounds, so that a thread gets at most 64 registers. 0: the
// launch bounds do not ask for a number of blocks.
__host__ __device__ constexpr int blocks_asked_for(int held_registers, int threads) {
  return held_registers > 32 ? 0 : threads >= 64 ? 1024 / threads : 16;
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kRowsPerThread,
          int kCluster, int kVec, bool kHeld, LOAD kLoad, STORE kStore, bool kEarly, bool kPdl,
          bool kHasRstd>
__global__ void __launch_bounds__(
    kThreadsPerRow* kRowsPerBlock,
    blocks_asked_for(Shape<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kRowsPerThread, kCluster,
                           kVec, kHeld, kLoad, kStore, kEarly, kPdl>::kHeldRegisters,
                     kThreadsPerRow* kRowsPerBlock))
    rmsnorm_forward(const T* x, const W* weight, T* __restrict__ y, float* __restrict__ rstd,
                    mg::i64 rows, mg::i64 x_stride, float eps, float weight_offset,
                    mg::u32 pdl_blocks) {
  using S = Shape<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kRowsPerThread, kCluster, kVec,
                  kHeld, kLoad, kStore, kEarly, kPdl>;
  const Tensors<S> tensors{x, nullptr, weight, y, nullptr, rstd};
  normalize<S, false, kHasRstd>(tensors, rows, x_stride, eps, weight_offset, pdl_blocks);
}

template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kRowsPerThread,
          int kCluster, int kVec, bool kHeld, LOAD kLoad, STORE kStore, bool kEarly, bool kPdl,
          bool kHasRstd>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock)
    rmsnorm_add_forward(const T* x, const T* residual, const W* weight, T* __restrict__ y,
                        T* residual_out, float* __restrict__ rstd, mg::i64 rows, mg::i64 x_stride,
                        float eps, float weight_offset, mg::u32 pdl_blocks) {
  using S = Shape<T, W, kHidden, kThreadsPerRow, kRowsPerBlock, kRowsPerThread, kCluster, kVec,
                  kHeld, kLoad, kStore, kEarly, kPdl>;
  const Tensors<S> tensors{x, residual, weight, y, residual_out, rstd};
  normalize<S, true, kHasRstd>(tensors, rows, x_stride, eps, weight_offset, pdl_blocks);
}

template <class T, class W, int kHidden, int kCluster, int kThreads, STORE kStore, bool kEarly,
          bool kPdl, bool kHasRstd>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_forward_bulk(const T* x, const W* weight, T* __restrict__ y, float* __restrict__ rstd,
                         mg::i64 x_stride, float eps, float weight_offset, mg::u32 pdl_blocks) {
  using S = BulkShape<T, W, kHidden, kCluster, kThreads, kStore, kEarly, kPdl>;
  const Tensors<S> tensors{x, nullptr, weight, y, nullptr, rstd};
  normalize_bulk<S, false, kHasRstd>(tensors, kHidden, x_stride, eps, weight_offset, pdl_blocks);
}

template <class T, class W, int kHidden, int kCluster, int kThreads, STORE kStore, bool kEarly,
          bool kPdl, bool kHasRstd>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_add_forward_bulk(const T* x, const T* residual, const W* weight, T* __restrict__ y,
                             T* residual_out, float* __restrict__ rstd, mg::i64 x_stride, float eps,
                             float weight_offset, mg::u32 pdl_blocks) {
  using S = BulkShape<T, W, kHidden, kCluster, kThreads, kStore, kEarly, kPdl>;
  const Tensors<S> tensors{x, residual, weight, y, residual_out, rstd};
  normalize_bulk<S, true, kHasRstd>(tensors, kHidden, x_stride, eps, weight_offset, pdl_blocks);
}
