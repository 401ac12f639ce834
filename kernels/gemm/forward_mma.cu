// gemm.forward  y[r, c] = activation(sum over i of x[r, i] * w[c, i] + bias[c]) + residual[r, c]
//
// The activation is none, relu, gelu (with erf) or silu. bias and residual are optional.
//
// The plain version: one thread computes one element of y.
//
//   __global__ void gemm(const T* x, const T* w, T* y, int n, int k) {
//     int r = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
//     if (c >= n) return;
//     float sum = 0;
//     for (int i = 0; i < k; i++) sum += (float)x[r * k + i] * (float)w[c * k + i];
//     y[r * n + c] = sum;
//   }
//
// It is slow: it loads two elements for each product, and the tensor cores do nothing.
//
// Algorithm  A block computes a tile of BLOCK_M x BLOCK_N elements (<mg/gemm_tiles.cuh>). cp.async
//            brings BLOCK_K columns of x and w at a time into a ring of STAGES in shared memory,
//            with a swizzle against bank conflicts. ldmatrix loads them as operands of mma.sync,
//            whose sums stay in registers. At the end four lanes exchange their columns by
//            shuffles, so that bias, residual and y are accessed by 16 bytes.
//            With SPLIT_K > 1, several blocks share a tile. They leave their sums in the workspace,
//            and the last one adds them up in a fixed order.
// Traffic    It reads x once per BLOCK_N columns and w once per BLOCK_M rows, mostly from L2, where
//            blocks that run at the same time share them. It writes y. With SPLIT_K, 8 bytes more
//            per element and split.
// Work       2 * m * n * k flops. An H200 has 206 flops per byte (989 TFLOP/s and 4.8 TB/s), so the
//            kernel is bound by the tensor cores from about 200 rows on. mma.sync has 62 to 72 % of
//            the rate of wgmma on sm_90, and the full rate of older GPUs.
//            A warp reads (1 / rows + 1 / columns of the warp) * 2 bytes of shared memory per
//            product. A warp of 64 x 64 needs half of the bandwidth of shared memory, one of 32 x
//            32 all of it.
// Tunables   BLOCK_M, BLOCK_N   A larger tile needs less traffic from L2 per product, but makes
//                               fewer blocks, and needs registers and shared memory.
//            BLOCK_K            More columns need fewer barriers, but more shared memory per stage.
//            WARPS_M, WARPS_N   How the warps share the tile. More warps hide more latency, but
//                               read more of shared memory.
//            STAGES             More stages hide more of the latency of memory.
//            GROUP_M            The rows of tiles that blocks of the same time work on (for L2).
//            BLOCKS_PER_SM      The blocks that the compiler leaves registers for. Two blocks hide
//                               each other's start and end.
//            SPLIT_K            The blocks that share a tile, for problems with few tiles.
// Numerics   Products are exact, and sums are fp32. Bias, activation and residual are fp32, and y
//            is rounded once. The parameters fix the order of all sums. NaN and infinity in x or w
//            reach only their own rows and columns of y.

#include <mg/gemm_tiles.cuh>
#include <mg/types.cuh>

#include "epilogue.cuh"

template <class T, int BLOCK_M, int BLOCK_N, int BLOCK_K, int WARPS_M, int WARPS_N, int STAGES,
          int BLOCKS_PER_SM, bool SPLIT, bool RELU, bool GELU, bool SILU, bool BIAS, bool RESIDUAL>
__global__ void __launch_bounds__(32 * WARPS_M * WARPS_N, BLOCKS_PER_SM)
    gemm_forward_mma(const T* x, const T* w, const T* bias, const T* residual, T* y,
                     float* partials, mg::u32* counters, int m, int n, int k, int group_m,
                     mg::i64 x_stride, mg::i64 w_stride, mg::i64 residual_stride,
                     mg::i64 y_stride) {
  using V = mg::GemmTiles<T, 1, BLOCK_M, BLOCK_N, BLOCK_K, WARPS_M, WARPS_N, STAGES>;
  const mg::GemmInputs<T, 1> inputs{x, {w}, x_stride, {w_stride}, m, n, k};
  const Epilogue<T, RELU, GELU, SILU, BIAS, RESIDUAL> epilogue{bias, residual, y, residual_stride,
                                                               y_stride};
  const auto place = mg::place_of_tile<V>(static_cast<int>(blockIdx.x), m, n, group_m);
  if constexpr (SPLIT) {
    mg::gemm_split_tile<V>(inputs, place, static_cast<int>(blockIdx.y), static_cast<int>(gridDim.y),
                           partials, counters, epilogue);
  } else {
    mg::gemm_tile<V>(inputs, place, epilogue);
  }
}
