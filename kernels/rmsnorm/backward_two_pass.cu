// rmsnorm.backward and rmsnorm.add_backward, design two_pass: for rows that no block can hold.
//
//   xhat = x * rstd    g = dy * (offset + weight)    c[r] = sum(g[r, :] * xhat[r, :]) / hidden
//   dx = rstd * (g - xhat * c) [+ dresidual]         dw[column] = sum over rows of dy * xhat
//
// The plain version: one kernel for the means c, one for dx, one for dw.
//
//   __global__ void means(...) {          // one thread per row
//     for (int col = 0; col < hidden; col++) sum += g(row, col) * xhat(row, col);
//     c[row] = sum / hidden;
//   }
//   __global__ void input_gradient(...) {  // one thread per element
//     dx[row][col] = rstd[row] * (g(row, col) - xhat(row, col) * c[row]);
//   }
//   __global__ void weight_gradient(...) {  // one thread per column
//     for (int row = 0; row < rows; row++) sum += dy[row][col] * xhat(row, col);
//     dw[col] = sum;
//   }
//
// It reads x and dy three times.
//
// Algorithm  rmsnorm_backward_means computes c with THREADS_PER_ROW threads per row, as the forward
//            kernel sums its squares.
//            rmsnorm_backward_tiles computes dx and dw together, which saves one of the three
//            reads. It cuts the columns into tiles of THREADS * VEC. Several blocks share a tile:
//            each takes every n-th row. They go from the last row to the first, because the last
//            rows are still in L2.
//            A thread keeps the weights of its columns and their sums for dw in registers. It loads
//            ROWS_AT_ONCE rows at once and needs no barrier.
//            The blocks that take the same rows, one per tile, are a stripe. Each stripe writes one
//            row of partial sums, and rmsnorm_backward_dw adds these rows.
// Traffic    It reads 2 * rows * hidden elements of T twice; the second read finds in L2 what fits
//            there. It reads dresidual once and writes rows * hidden elements. A stripe writes
//            4 * hidden bytes of partial sums.
// Work       14 * rows * hidden flops. The kernels are bound by memory.
// Tunables   THREADS_PER_ROW, ROWS_PER_BLOCK  The shape of a block of the first kernel.
//            VEC              The elements of an access. 16 bytes need the fewest instructions.
//            THREADS          The width of a tile. Fewer threads make narrower tiles, hence fewer
//                             stripes.
//            ROWS_AT_ONCE     More loads are in flight, for more registers.
//            BLOCKS_PER_SM    The blocks of the second kernel. More loads are in flight, for more
//                             partial sums.
// Numerics   As in backward.cu: everything is fp32, dx and dw are rounded once. The order of the
//            additions depends on the parameters and the size of the grid alone.

#include <mg/cache_hint.cuh>
#include <mg/convert.cuh>
#include <mg/partial_sums.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

// means[row] = sum(g * xhat) / hidden.
template <class T, class W, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kVec>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock)
    rmsnorm_backward_means(const T* __restrict__ dy, const T* __restrict__ x,
                           const W* __restrict__ weight, const float* __restrict__ rstd,
                           float* __restrict__ means, mg::i64 rows, mg::i64 x_stride,
                           float weight_offset) {
  constexpr int kStep = kThreadsPerRow * kVec;
  static_assert(kVec * sizeof(T) <= 16, "one access is at most 16 bytes");
  static_assert(kHidden % kVec == 0, "every row begins on a whole vector");
  MG_SHARED(float, scratch, [mg::sum_scratch_floats<kThreadsPerRow, kRowsPerBlock>()]);

  const int lane = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const mg::i64 row = mg::i64{blockIdx.x} * kRowsPerBlock + threadIdx.x / kThreadsPerRow;
  float sum = 0.0f;
  float scale = 0.0f;
  if (row < rows) {
    scale = rstd[row];
    const T* const dy_row = dy + row * kHidden;
    const T* const x_row = x + row * x_stride;
#pragma unroll 4
    for (int column = lane * kVec; column < kHidden; column += kStep) {
      const auto dys = mg::load<kVec>(dy_row + column);
      const auto xs = mg::load<kVec>(x_row + column);
      const auto weights = mg::load_pieces<kVec>(weight + column);
      float d[kVec], v[kVec], w[kVec], part = 0.0f;
      mg::to_floats(dys, d);
      mg::to_floats(xs, v);
      mg::to_floats(weights, w);
#pragma unroll
      for (int i = 0; i < kVec; ++i) part += d[i] * (v[i] * scale) * (weight_offset + w[i]);
      sum += part;
    }
  }
  const float total = mg::sum<kThreadsPerRow>(sum, scratch);
  if (row < rows && lane == 0) means[row] = total * (1.0f / kHidden);
}

// Computes dx and the partial sums for dw of one block. blockIdx.x chooses its kThreads * kVec
// columns. blockIdx.y is its stripe: it takes the rows stripe, stripe + stripes, ... from the end.
template <class T, class W, int kHidden, int kThreads, int kVec, int kRowsAtOnce, bool kHasDw,
          bool kHasResidual>
__device__ __forceinline__ void backward_tile(const T* __restrict__ dy, const T* __restrict__ x,
                                              const W* __restrict__ weight,
                                              const float* __restrict__ rstd,
                                              const T* __restrict__ dresidual,
                                              const float* __restrict__ means, T* __restrict__ dx,
                                              float* __restrict__ partials, mg::i64 rows,
                                              mg::i64 x_stride, float weight_offset) {
  constexpr mg::i64 kPartialRow = (kHidden + 3) / 4 * 4;
  using Vector = mg::Vec<T, kVec>;
  const int column = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) * kVec;
  if (column >= kHidden) return;
  float weights[kVec], dw[kVec];
  const auto loaded = mg::load_pieces<kVec>(weight + column);
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    weights[i] = weight_offset + mg::to_float(loaded[i]);
    dw[i] = 0.0f;
  }

  const mg::i64 stripes = gridDim.y;
  for (mg::i64 last = rows - 1 - blockIdx.y; last >= 0; last -= stripes * kRowsAtOnce) {
    Vector dys[kRowsAtOnce], xs[kRowsAtOnce], dresiduals[kHasResidual ? kRowsAtOnce : 1];
    float scales[kRowsAtOnce], means_of_rows[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const mg::i64 row = last - i * stripes;
      if (row < 0) continue;
      dys[i] = mg::load<kVec>(dy + row * kHidden + column);
      xs[i] = mg::load<kVec>(x + row * x_stride + column);
      if constexpr (kHasResidual) {
        dresiduals[i] = mg::load<kVec>(dresidual + row * kHidden + column);
      }
      scales[i] = rstd[row];
      means_of_rows[i] = means[row];
    }
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const mg::i64 row = last - i * stripes;
      if (row < 0) continue;
      float d[kVec], v[kVec], result[kVec];
      mg::to_floats(dys[i], d);
      mg::to_floats(xs[i], v);
      if constexpr (kHasResidual) {
        mg::to_floats(dresiduals[i], result);
      } else {
#pragma unroll
        for (int j = 0; j < kVec; ++j) result[j] = 0.0f;
      }
#pragma unroll
      for (int j = 0; j < kVec; ++j) {
        const float xhat = v[j] * scales[i];
        dw[j] += d[j] * xhat;
        result[j] += scales[i] * (d[j] * weights[j] - xhat * means_of_rows[i]);
      }
      mg::store_hinted<kVec, mg::Cache::normal>(dx + row * kHidden + column,
                                                mg::from_floats<T>(result));
    }
  }

  if constexpr (kHasDw) {
    constexpr int kPiece = kVec < 4 ? kVec : 4;
#pragma unroll
    for (int i = 0; i < kVec; i += kPiece) {
      mg::Vec<float, kPiece> sums;
#pragma unroll
      for (int j = 0; j < kPiece; ++j) sums.data[j] = dw[i + j];
      mg::store<kPiece>(partials + blockIdx.y * kPartialRow + column + i, sums);
    }
  }
}

template <class T, class W, int kHidden, int kThreads, int kVec, int kRowsAtOnce, bool kHasDw>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_backward_tiles(const T* __restrict__ dy, const T* __restrict__ x,
                           const W* __restrict__ weight, const float* __restrict__ rstd,
                           const float* __restrict__ means, T* __restrict__ dx,
                           float* __restrict__ partials, mg::i64 rows, mg::i64 x_stride,
                           float weight_offset) {
  backward_tile<T, W, kHidden, kThreads, kVec, kRowsAtOnce, kHasDw, false>(
      dy, x, weight, rstd, nullptr, means, dx, partials, rows, x_stride, weight_offset);
}

template <class T, class W, int kHidden, int kThreads, int kVec, int kRowsAtOnce, bool kHasDw>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_add_backward_tiles(const T* __restrict__ dy, const T* __restrict__ s,
                               const W* __restrict__ weight, const float* __restrict__ rstd,
                               const T* __restrict__ dresidual, const float* __restrict__ means,
                               T* __restrict__ dx, float* __restrict__ partials, mg::i64 rows,
                               mg::i64 s_stride, float weight_offset) {
  backward_tile<T, W, kHidden, kThreads, kVec, kRowsAtOnce, kHasDw, true>(
      dy, s, weight, rstd, dresidual, means, dx, partials, rows, s_stride, weight_offset);
}

// Computes dw from the partial sums of `parts` stripes. dw is zero if there are none.
template <class W, int kHidden, int kThreads>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_backward_dw(const float* partials, W* __restrict__ dw, mg::i32 parts) {
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
