// The designs wgmma, wgmma_single, wgmma_split_k, wgmma_swapped and wgmma_swapped_wide of
// gemm.forward, for GPUs of compute capability 9.0.
// forward_mma.cu has the formula and the plain version.
//
// Algorithm  <mg/wgmma_gemm.cuh>: one warpgroup lets the copy engine bring x and w, and CONSUMERS
//            others multiply and write. The blocks are persistent: each takes tile after tile.
// Traffic    A tile reads 64 * CONSUMERS rows of x and BLOCK_N rows of w, mostly from L2. With
//            CLUSTER, two blocks share one read of the rows of w. The copy engine writes y, 64 x 64
//            elements per copy. Columns that do not fill such a copy are written from registers.
// Work       2 * m * n * k flops. wgmma does 4096 flops per SM and clock, about 800 TFLOP/s at the
//            clocks that an H200's power allows. A tile also waits for its first slab and stages
//            its results, about 1,000 clocks of 65,536 at k = 4096.
//            Expected on an H200 at 8192^3: 700 TFLOP/s.
// Tunables   CONSUMERS   The rows of a tile, 64 for each. More rows need less traffic per product.
//                        It is 1 in wgmma_single.
//            BLOCK_N     The columns of a tile, likewise. 256 keeps the tensor cores busiest;
//                        others may fill the waves of tiles better. The operator file estimates
//                        the time of each in clocks, and an untuned problem runs the best.
//            BLOCK_K     The columns of a slab of x and w. A tile of 64 x 32 takes 320 clocks for a
//                        slab of 64 columns and 440 for one of 128, and waits for most of this
//                        time.
//            STAGES      The slabs in shared memory.
//            CLUSTER     The blocks that share one read of w.
//            CLUSTER_K   wgmma_split_k: the blocks that share the k of a tile, in one cluster with
//                        those of CLUSTER. So a problem with few tiles can have larger ones, which
//                        need fewer bytes per product. The blocks exchange (CLUSTER_K - 1) /
//                        CLUSTER_K of the sums of a tile.
//            GROUP       The tiles of rows that are computed next to each other, for L2.
//            STREAM_K    The blocks share the tiles of the last waves evenly, cut anywhere in k. If
//                        there are fewer tiles than blocks, the blocks read different parts of x
//                        and w at one time, so L2 gives an SM 44 bytes per clock instead of 60.
//            Y_STAGES    The stages of 64 columns of y in shared memory.
//            SWAP        wgmma_swapped and wgmma_swapped_wide: the kernel computes w x^T, so
//                        BLOCK_N (BLOCK_M in the operator file) has the rows of a tile, and 64 *
//                        CONSUMERS * HALVES are its columns. m is rarely a multiple of 128, n
//                        mostly is.
//            HALVES      With SWAP: the products of 64 columns that a consumer has side by side, 2
//                        in wgmma_swapped_wide.
//            PDL         The grid is set up while the previous grid ends.
// Numerics   Products are exact, and sums are fp32. Bias, activation and residual are fp32, and y
//            is rounded once. The parameters fix the order of all sums.

#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/wgmma_gemm.cuh>

#include "epilogue.cuh"

template <class T, int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER, int CLUSTER_K,
          bool STREAM_K, int Y_STAGES, int BLOCK_K, bool SWAP, int HALVES, bool RELU, bool GELU,
          bool SILU, bool BIAS, bool RESIDUAL>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm_forward_wgmma(const __grid_constant__ mg::TensorMap x,
                       const __grid_constant__ mg::TensorMap w,
                       const __grid_constant__ mg::TensorMap y_map, T* y, const T* bias,
                       const T* residual, float* partial_sums, mg::u32* counters, int m, int n,
                       int k, int group, mg::i64 residual_stride, mg::i64 y_stride) {
  using V = mg::WgmmaGemm<T, CONSUMERS, BLOCK_N, STAGES, CLUSTER, CLUSTER_K, 1, STREAM_K, BLOCK_K,
                          Y_STAGES, SWAP, HALVES>;
  const mg::TensorMap* const weights[] = {&w};
  const Epilogue<T, RELU, GELU, SILU, BIAS, RESIDUAL> epilogue{bias, residual, nullptr,
                                                               residual_stride, 0};
  mg::wgmma_gemm<V>({m, n, k, group}, x, weights, {y_map, y, y_stride}, {partial_sums, counters},
                    epilogue);
}
