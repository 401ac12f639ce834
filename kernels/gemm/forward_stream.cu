// gemm.forward for few rows of x: y[r, c] = activation(x[r] . w[c] + bias[c]) + residual[r, c]
//
// The plain version: one warp computes one element of y.
//
//   __global__ void gemv(const T* x, const T* w, T* y, int n, int k) {
//     int c = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
//     if (c >= n) return;
//     float sum = 0;
//     for (int i = lane; i < k; i += 32) sum += (float)x[i] * (float)w[c * k + i];
//     sum = warp_sum(sum);
//     if (lane == 0) y[c] = sum;
//   }
//
// It is slow: a lane has 2 bytes in flight, and each further row of x reads all weights again.
//
// Algorithm  The weights are read once, 16 rows at a time (<mg/gemm_stream.cuh>). Persistent blocks
//            walk over these tiles. A block keeps its columns of x in shared memory. Each warp
//            copies 64 columns of 16 rows per step by cp.async, STAGES steps ahead, and multiplies
//            them by mma.sync, for 1 row of x as for 8. One barrier per tile adds up the warps.
//            If k is longer than CHUNK, several blocks share a tile: they leave their sums in the
//            workspace, and the last one adds them up in a fixed order.
// Traffic    n * k elements of w, once. x is read once per block from L2. The sums of parts are
//            4 * m * n bytes per part, written and read through L2: 2 * m / chunk of the weights,
//            0.8 % for 16 rows and chunks of 4096.
// Work       2 * m * n * k flops, 8 or 16 times what one row needs. An SM of an H200 gets 20 bytes
//            of weights per clock, so a product of mma.sync has 25 clocks per 8 rows and needs 2 to
//            4.
// Tunables   ROWS    The rows of x that a block computes with: m rounded up to 8, 16 or 32.
//            CHUNK   The columns of a part. Longer parts have fewer sums to add up; shorter ones
//                    need less shared memory for x, and make more units of work.
//            WARPS   The warps of a block. They share a tile, so more warps need longer parts.
//            STAGES  The steps in flight: WARPS * STAGES * 2 KB per block. An SM needs 40 KB.
//            BLOCKS_PER_SM   More blocks hide the barriers and the start of each other.
//            PDL     The grid starts while the previous grid ends, and brings its first weights
//                    into L2. Two blocks then need to fit on an SM: 113 KB of shared memory each.
// Numerics   Products are exact, and sums are fp32. The warps and parts are added in a fixed order,
//            so repetitions give the same bits. y is rounded once.

#include <mg/gemm_stream.cuh>
#include <mg/types.cuh>

#include "epilogue.cuh"

template <class T, int ROWS, int WARPS, int STAGES, int BLOCKS_PER_SM, bool PDL, bool RELU,
          bool GELU, bool SILU, bool BIAS, bool RESIDUAL>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    gemm_forward_stream(const T* x, const T* w, const T* bias, const T* residual, T* y,
                        float* partials, mg::u32* counters, int m, int n, int k, int chunk,
                        mg::i64 x_stride, mg::i64 w_stride, mg::i64 residual_stride,
                        mg::i64 y_stride) {
  using V = mg::GemmStream<T, 1, ROWS, WARPS, STAGES>;
  const mg::GemmInputs<T, 1> inputs{x, {w}, x_stride, {w_stride}, m, n, k};
  const Epilogue<T, RELU, GELU, SILU, BIAS, RESIDUAL> epilogue{bias, residual, y, residual_stride,
                                                               y_stride};
  const mg::GemmStreamWork work{chunk,
                                static_cast<int>(blockIdx.y),
                                static_cast<int>(gridDim.y),
                                static_cast<int>(blockIdx.x),
                                static_cast<int>(gridDim.x),
                                partials,
                                counters};
  mg::stream_gemm<V, PDL>(inputs, work, epilogue);
}
