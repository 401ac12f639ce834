// The design wgmma_stream of gemm.forward, for up to 64 rows of x on GPUs of compute capability
// 9.0. forward_stream.cu has the formula for few rows and the plain version.
//
// Algorithm  <mg/wgmma_stream.cuh>: y^T = w x^T by wgmma, so the weights are the operand of 64
//            rows. The copy engine brings slabs of w and x into a ring, and each of CONSUMERS
//            warpgroups multiplies 64 rows of w. With WHOLE, the rows of w are cut into equal
//            tiles, equally many for each block. Otherwise all slabs of w are shared evenly among
//            the blocks. Blocks that share a tile leave sums in the workspace, and the last one
//            adds them in a fixed order.
// Traffic    n * k elements of w, once. x comes from L2 for each slab: m / (rows of a tile) of the
//            bytes of w. Without WHOLE, the sums that a block leaves are at most 2 * 256 * ROWS *
//            CONSUMERS bytes: 16 KB for 16 rows and CONSUMERS = 2, where a block reads 508 KB of 64
//            MiB of weights on an H200.
// Work       2 * ROWS * n * k flops. A slab of 64 x 64 weights takes about 430 clocks to arrive at
//            an SM of an H200, and about 150 to wait for, multiply and release. Expected on an H200
//            from 64 MiB of weights on: at least 4,100 GB/s of weights. Without PDL the beginning
//            and the end of a grid take about 4 us in which memory is idle.
// Tunables   ROWS        The rows of x that are computed: m rounded up to a multiple of 16.
//            CONSUMERS   The rows of w in a tile, 64 for each. More rows read x less often; fewer
//                        rows have fewer sums to add up.
//            BLOCK_K     The columns of a slab. Longer slabs need fewer barriers: with tiles of 64
//                        rows, 128 columns are read 1 to 3 % faster than 64. Shorter ones leave
//                        less of the ring unused.
//            RING        The KiB of the ring, which are also the bytes in flight of a block.
//            WHOLE       The tiles are equal, and no two blocks share one. So no sums are
//                        exchanged, which saves 1 us at the end. The tiles have at least 6 * ROWS
//                        rows, because each slab also brings ROWS rows of x. If a block would have
//                        fewer rows of w, it is better to cut along k.
//            BLOCKS_PER_SM  Two blocks hide each other's barriers.
//            PDL         The grid starts while the previous grid ends, and brings its first
//                        weights into L2. Blocks of both grids fit on an SM together if RING is at
//                        most 108.
// Numerics   Products are exact, and sums are fp32. Bias, activation and residual are fp32, and y
//            is rounded once. The parameters and the number of SMs fix the order of all sums.

#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/wgmma_stream.cuh>

#include "epilogue.cuh"

template <class T, int ROWS, int CONSUMERS, int BLOCK_K, int SLOTS, bool WHOLE, int BLOCKS_PER_SM,
          bool PDL, bool RELU, bool GELU, bool SILU, bool BIAS, bool RESIDUAL>
__global__ void __launch_bounds__(128 * CONSUMERS + 32, BLOCKS_PER_SM)
    gemm_forward_wgmma_stream(const __grid_constant__ mg::TensorMap x,
                              const __grid_constant__ mg::TensorMap w, const T* bias,
                              const T* residual, T* y, float* partial_sums, mg::u32* counters,
                              int m, int n, int k, int tile, int slots, mg::i64 residual_stride,
                              mg::i64 y_stride) {
  using V = mg::WgmmaStream<T, CONSUMERS, ROWS, BLOCK_K, SLOTS, WHOLE, 1>;
  const mg::TensorMap* const weights[] = {&w};
  const Epilogue<T, RELU, GELU, SILU, BIAS, RESIDUAL> epilogue{bias, residual, y, residual_stride,
                                                               y_stride};
  mg::wgmma_stream<V, PDL>({m, n, k, tile, slots}, x, weights, {partial_sums, counters}, epilogue);
}
