// gemm.forward for GPUs without mma.sync for T (before sm_80). This design also serves every
// problem on every GPU:
//
//   y[r, c] = activation(sum over i of x[r, i] * w[c, i] + bias[c]) + residual[r, c]
//
// Algorithm  A block computes 64 x 64 elements of y on the CUDA cores (<mg/gemm_plain.cuh>).
// Traffic    It reads x once per 64 columns and w once per 64 rows, mostly from L2. It writes y.
// Work       2 * m * n * k flops, bound by the CUDA cores and shared memory.
// Tunables   none
// Numerics   Products and sums are fp32, in the order of k. y is rounded once.

#include <mg/gemm_plain.cuh>
#include <mg/types.cuh>

#include "epilogue.cuh"

template <class T, bool RELU, bool GELU, bool SILU, bool BIAS, bool RESIDUAL>
__global__ void __launch_bounds__(mg::kPlainGemmThreads)
    gemm_forward_plain(const T* x, const T* w, const T* bias, const T* residual, T* y, int m, int n,
                       int k, mg::i64 x_stride, mg::i64 w_stride, mg::i64 residual_stride,
                       mg::i64 y_stride) {
  const mg::GemmInputs<T, 1> inputs{x, {w}, x_stride, {w_stride}, m, n, k};
  const Epilogue<T, RELU, GELU, SILU, BIAS, RESIDUAL> epilogue{bias, residual, y, residual_stride,
                                                               y_stride};
  mg::plain_gemm_tile(inputs, static_cast<int>(blockIdx.x) * mg::kPlainGemmTile,
                      static_cast<int>(blockIdx.y) * mg::kPlainGemmTile, epilogue);
}
