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
// Algorithm  The blocks are persistent: each takes every gridDim.x-th group of ROWS_PER_BLOCK rows.
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
//            LOAD             ldg loads into registers and serves any alignment. cp_async copies
//                             4 bytes or more.
//            BLOCKS_PER_SM    More rows are in flight, and barriers overlap. A thread gets fewer
//                             registers, and there are more partial sums.
//            CLUSTER          The blocks of a row. More blocks hold wider rows and spread few rows
//                             over more SMs. Fewer rows are in flight at once.
//            PDL              The second kernel starts when the rows are done. The first kernel
//                             prefetches its first rows into L2 while the previous grid ends.
// Numerics   Everything is fp32; dx and dw are rounded once. dy * x, xhat and g must be finite in
//            fp32. The order of the additions depends on the parameters and the size of the grid
//            alone: two runs give the same bits.

#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/partial_sums.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "backward_rows.cuh"
#include "backward_tiling.cuh"

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

// The static shared memory of a block in a cluster.
template <class Sums>
struct ClusterMemory {
  mg::CopyBarrier arrived[Sums::kBarriers];
  float slots[Sums::kFloats];
};

template <class K, bool kPdl>
__device__ __forceinline__ void backward_in_cluster(
    const Gradients<typename K::T, typename K::W>& in) {
  const int first_column = static_cast<int>(mg::cluster_rank()) * K::kSlice;
  begin_rows<K, kPdl>(in, first_column);
  using Sums = typename Rows<K>::ClusterSums;
  MG_SHARED(ClusterMemory<Sums>, memory);
  Rows<K> rows(in, first_column);
  rows.process_in_cluster(Sums(memory.slots, memory.arrived));
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
