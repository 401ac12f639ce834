// swiglu.gate_up  gate = x gate_w^T,  up = x up_w^T,  h = silu(gate) * up
//
//   silu(g) = g / (1 + e^-g). gate and up are stored only if the backward pass needs them.
//
// The plain version: one thread computes one element of h.
//
//   __global__ void gate_up(const T* x, const T* gate_w, const T* up_w, T* h, int n, int k) {
//     int r = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
//     if (c >= n) return;
//     float gate = 0, up = 0;
//     for (int i = 0; i < k; i++) {
//       gate += (float)x[r * k + i] * (float)gate_w[c * k + i];
//       up += (float)x[r * k + i] * (float)up_w[c * k + i];
//     }
//     h[r * n + c] = gate / (1 + expf(-gate)) * up;
//   }
//
// It is slow: it loads three elements for two products, and the tensor cores do nothing.
//
// Algorithm  As in gemm.forward (kernels/gemm/forward_mma.cu), with two products of the same rows
//            of x. A thread has gate and up of the same elements in its registers. So h needs no
//            traffic of gate and up, which together are twice as large as h.
// Traffic    It reads x once per BLOCK_N columns and the weights once per BLOCK_M rows, mostly from
//            L2. It writes h. A product and an activation in two kernels write and read gate and up
//            too: 8 more bytes per element of h, 6 % of the time at k = 4096 on an H200.
// Work       4 * m * n * k flops, bound by the tensor cores.
// Tunables   As in gemm.forward. BLOCK_N is the number of columns of h, so a tile has 2 * BLOCK_N
//            rows of weights.
// Numerics   Products are exact, and sums are fp32. silu and the product are computed in fp32 from
//            the unrounded sums; h is rounded once. The parameters fix the order of all sums.

#include <mg/gemm_tiles.cuh>
#include <mg/types.cuh>

#include "gate_up_epilogue.cuh"

template <class T, int BLOCK_M, int BLOCK_N, int BLOCK_K, int WARPS_M, int WARPS_N, int STAGES,
          int BLOCKS_PER_SM, bool SPLIT, bool GATE, bool UP>
__global__ void __launch_bounds__(32 * WARPS_M * WARPS_N, BLOCKS_PER_SM)
    swiglu_gate_up_mma(const T* x, const T* gate_w, const T* up_w, T* h, T* gate, T* up,
                       float* partials, mg::u32* counters, int m, int n, int k, int group_m,
                       mg::i64 x_stride, mg::i64 gate_w_stride, mg::i64 up_w_stride,
                       mg::i64 h_stride, mg::i64 gate_stride, mg::i64 up_stride) {
  using V = mg::GemmTiles<T, 2, BLOCK_M, BLOCK_N, BLOCK_K, WARPS_M, WARPS_N, STAGES>;
  const mg::GemmInputs<T, 2> inputs{x, {gate_w, up_w}, x_stride, {gate_w_stride, up_w_stride}, m, n,
                                    k};
  const GateUpEpilogue<T, GATE, UP> epilogue{h, gate, up, h_stride, gate_stride, up_stride};
  const auto place = mg::place_of_tile<V>(static_cast<int>(blockIdx.x), m, n, group_m);
  if constexpr (SPLIT) {
    mg::gemm_split_tile<V>(inputs, place, static_cast<int>(blockIdx.y), static_cast<int>(gridDim.y),
                           partials, counters, epilogue);
  } else {
    mg::gemm_tile<V>(inputs, place, epilogue);
  }
}
