// swiglu.gate_up for GPUs without mma.sync for T (before sm_80). This design also serves every
// problem on every GPU:
//
//   gate = x gate_w^T,  up = x up_w^T,  h = silu(gate) * up          silu(g) = g / (1 + e^-g)
//
// Algorithm  A block computes 64 x 64 elements of h on the CUDA cores (<mg/gemm_plain.cuh>).
// Traffic    It reads x once per 64 columns and the weights once per 64 rows, mostly from L2. It
//            writes h.
// Work       4 * m * n * k flops, bound by the CUDA cores and shared memory.
// Tunables   none
// Numerics   Products and sums are fp32, in the order of k. silu and the product are computed from
//            the unrounded sums; h is rounded once.

#include <mg/gemm_plain.cuh>
#include <mg/types.cuh>

#include "gate_up_epilogue.cuh"

template <class T, bool GATE, bool UP>
__global__ void __launch_bounds__(mg::kPlainGemmThreads)
    swiglu_gate_up_plain(const T* x, const T* gate_w, const T* up_w, T* h, T* gate, T* up, int m,
                         int n, int k, mg::i64 x_stride, mg::i64 gate_w_stride, mg::i64 up_w_stride,
                         mg::i64 h_stride, mg::i64 gate_stride, mg::i64 up_stride) {
  const mg::GemmInputs<T, 2> inputs{x, {gate_w, up_w}, x_stride, {gate_w_stride, up_w_stride}, m, n,
                                    k};
  const GateUpEpilogue<T, GATE, UP> epilogue{h, gate, up, h_stride, gate_stride, up_stride};
  mg::plain_gemm_tile(inputs, static_cast<int>(blockIdx.x) * mg::kPlainGemmTile,
                      static_cast<int>(blockIdx.y) * mg::kPlainGemmTile, epilogue);
}
