// The design wgmma_stream of swiglu.gate_up, for up to 64 rows of x on GPUs of compute capability
// 9.0. gate_up_mma.cu has the formula and the plain version.
//
// Algorithm  As in gemm/forward_wgmma_stream.cu. A slab has the same rows of gate_w and of up_w,
//            and a thread has the sums of gate and of up of the same elements.
// Traffic    2 * n * k elements of the weights, once. x comes from L2 for each slab: m / (128 *
//            CONSUMERS) of the bytes of the weights. The sums that a block leaves are at most 4 *
//            256 * ROWS * CONSUMERS bytes.
// Work       4 * ROWS * n * k flops. Expected on an H200 from 64 MiB of weights on: at least 4,100
//            GB/s of weights.
// Tunables   As in forward_wgmma_stream.cu. A slab has twice as many bytes, so with CONSUMERS = 1 x
//            is read as seldom as with 2 there.
// Numerics   As in forward_wgmma_stream.cu. silu(gate) * up is computed from the fp32 sums, and h
//            is rounded once.

#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/wgmma_stream.cuh>

#include "gate_up_epilogue.cuh"

template <class T, int ROWS, int CONSUMERS, int BLOCK_K, int SLOTS, bool WHOLE, int BLOCKS_PER_SM,
          bool PDL, bool GATE, bool UP>
__global__ void __launch_bounds__(128 * CONSUMERS + 32, BLOCKS_PER_SM)
    swiglu_gate_up_wgmma_stream(const __grid_constant__ mg::TensorMap x,
                                const __grid_constant__ mg::TensorMap gate_w,
                                const __grid_constant__ mg::TensorMap up_w, T* h, T* gate, T* up,
                                float* partial_sums, mg::u32* counters, int m, int n, int k,
                                int tile, int slots, mg::i64 h_stride, mg::i64 gate_stride,
                                mg::i64 up_stride) {
  using V = mg::WgmmaStream<T, CONSUMERS, ROWS, BLOCK_K, SLOTS, WHOLE, 2>;
  const mg::TensorMap* const weights[] = {&gate_w, &up_w};
  const GateUpEpilogue<T, GATE, UP> epilogue{h, gate, up, h_stride, gate_stride, up_stride};
  mg::wgmma_stream<V, PDL>({m, n, k, tile, slots}, x, weights, {partial_sums, counters}, epilogue);
}
