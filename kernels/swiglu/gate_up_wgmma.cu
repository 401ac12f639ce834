// The designs wgmma and wgmma_single (one consumer) of swiglu.gate_up, for GPUs of compute
// capability 9.0. gate_up_mma.cu has the formula and the plain version.
//
// Algorithm  As in gemm/forward_wgmma.cu, with tiles of BLOCK_N / 2 columns of h. A slab in shared
//            memory has the rows of gate_w first and then those of up_w, so one instruction
//            multiplies both. The sums of an element of gate and of up lie in the same thread,
//            BLOCK_N / 4 registers apart. The weights need no repacking.
// Traffic    A tile reads 64 * CONSUMERS rows of x and BLOCK_N / 2 rows of each weight, mostly from
//            L2. With CLUSTER, one of two blocks brings gate_w for both, and the other one up_w. A
//            tile writes h. A product with a separate activation writes and reads 2 m n elements
//            more.
// Work       4 * m * n * k flops, as in forward_wgmma.cu. A sigmoid takes 1.5 instructions of the
//            special function unit, because two share a reciprocal: 1,536 clocks of a tile's 65,536
//            at k = 4096. The other instructions of the epilogue take as long, but run at the same
//            time.
//            Expected on an H200 at 8,192 rows of Llama 3.1 8B: the time of a product of 28,672
//            columns without an activation.
// Tunables   As in forward_wgmma.cu.
// Numerics   As in forward_wgmma.cu. silu(gate) * up is computed from the fp32 sums, and h is
//            rounded once.

#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/wgmma_gemm.cuh>

#include "gate_up_epilogue.cuh"

template <class T, int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER, bool STREAM_K, int Y_STAGES,
          int BLOCK_K, bool GATE, bool UP>
__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    swiglu_gate_up_wgmma(const __grid_constant__ mg::TensorMap x,
                         const __grid_constant__ mg::TensorMap gate_w,
                         const __grid_constant__ mg::TensorMap up_w,
                         const __grid_constant__ mg::TensorMap h_map, T* h, T* gate, T* up,
                         float* partial_sums, mg::u32* counters, int m, int n, int k, int group,
                         mg::i64 h_stride, mg::i64 gate_stride, mg::i64 up_stride) {
  using V =
      mg::WgmmaGemm<T, CONSUMERS, BLOCK_N, STAGES, CLUSTER, 1, 2, STREAM_K, BLOCK_K, Y_STAGES>;
  const mg::TensorMap* const weights[] = {&gate_w, &up_w};
  const GateUpEpilogue<T, GATE, UP> epilogue{nullptr, gate, up, 0, gate_stride, up_stride};
  mg::wgmma_gemm<V>({m, n, k, group}, x, weights, {h_map, h, h_stride}, {partial_sums, counters},
                    epilogue);
}
