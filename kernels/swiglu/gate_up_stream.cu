// swiglu.gate_up for few rows of x: h[r, c] = silu(x[r] . gate_w[c]) * (x[r] . up_w[c])
//
// The plain version: one warp computes one element of h.
//
//   __global__ void gate_up(const T* x, const T* gate_w, const T* up_w, T* h, int n, int k) {
//     int c = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
//     if (c >= n) return;
//     float gate = 0, up = 0;
//     for (int i = lane; i < k; i += 32) {
//       gate += (float)x[i] * (float)gate_w[c * k + i];
//       up += (float)x[i] * (float)up_w[c * k + i];
//     }
//     gate = warp_sum(gate);
//     up = warp_sum(up);
//     if (lane == 0) h[c] = gate / (1 + expf(-gate)) * up;
//   }
//
// It is slow: a lane has 4 bytes in flight, and each further row of x reads all weights again.
//
// Algorithm  As in gemm.forward for few rows (kernels/gemm/forward_stream.cu), with 16 rows of both
//            weights in a tile. The warp that finishes a tile has gate and up of the same elements,
//            so h needs no second kernel.
// Traffic    2 * n * k elements of the weights, once. x is read once per block from L2. With
//            several parts, 8 * m * n bytes of sums per part are written and read through L2.
// Work       4 * m * n * k flops, far below what mma.sync can do in the time of the weights.
// Tunables   As in gemm.forward. A step has 4 KB, so half as many STAGES can be enough.
// Numerics   Products are exact, and sums are fp32. The warps and parts are added in a fixed order,
//            so repetitions give the same bits. silu and the product are fp32; h is rounded once.

#include <mg/gemm_stream.cuh>
#include <mg/types.cuh>

#include "gate_up_epilogue.cuh"

template <class T, int ROWS, int WARPS, int STAGES, int BLOCKS_PER_SM, bool PDL, bool GATE, bool UP>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    swiglu_gate_up_stream(const T* x, const T* gate_w, const T* up_w, T* h, T* gate, T* up,
                          float* partials, mg::u32* counters, int m, int n, int k, int chunk,
                          mg::i64 x_stride, mg::i64 gate_w_stride, mg::i64 up_w_stride,
                          mg::i64 h_stride, mg::i64 gate_stride, mg::i64 up_stride) {
  using V = mg::GemmStream<T, 2, ROWS, WARPS, STAGES>;
  const mg::GemmInputs<T, 2> inputs{x, {gate_w, up_w}, x_stride, {gate_w_stride, up_w_stride}, m, n,
                                    k};
  const GateUpEpilogue<T, GATE, UP> epilogue{h, gate, up, h_stride, gate_stride, up_stride};
  const mg::GemmStreamWork work{chunk,
                                static_cast<int>(blockIdx.y),
                                static_cast<int>(gridDim.y),
                                static_cast<int>(blockIdx.x),
                                static_cast<int>(gridDim.x),
                                partials,
                                counters};
  mg::stream_gemm<V, PDL>(inputs, work, epilogue);
}
