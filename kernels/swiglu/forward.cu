// swiglu.forward          y[r, c] = silu(gate[r, c]) * up[r, c]         silu(g) = g / (1 + e^-g)
// swiglu.packed_forward   the same, gate and up being the halves of each row of one tensor
//
// Algorithm  Elements are counted row by row and cut into vectors of VEC, vectors into tiles of
//            THREADS * UNROLL. A block takes a tile, or every gridDim-th one; a thread loads all
//            its vectors of a tile before it computes. swiglu_forward is for tensors without gaps
//            between their rows: one run, whatever the width, the last elements one by one. The
//            others find row and column of each vector (<mg/row_split.cuh>).
// Traffic    reads 2 * rows * hidden elements of T, writes rows * hidden, each once.
// Work       6 flops an element, two of them in the special function unit: bound by memory.
// Tunables   THREADS   of a block                trade: fewer blocks vs an even spread over SMs
//            VEC       elements of an access; 16 bytes need the fewest instructions, less serves
//                      odd sizes, strides and pointers
//            UNROLL    vectors a thread has in flight of each input; many cost registers
//            LOAD, STORE   whether caches are told that nothing is used again
//            PDL       start before the kernel ahead has ended: hides the launch of small problems
// Numerics   fp32 throughout, rounded to T once, at the end. The sigmoid keeps its relative
//            accuracy for every gate (<mg/sigmoid.cuh>); gates of -Inf give NaN (-Inf * 0), as the
//            formula does. y may be gate or up itself where it has the same strides; it must not
//            overlap them otherwise.

#include <mg/cache_hint.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/row_split.cuh>
#include <mg/sigmoid.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using LOAD = mg::Cache;
using STORE = mg::Cache;

template <class T, int kVec>
__device__ __forceinline__ mg::Vec<T, kVec> swiglu(const mg::Vec<T, kVec>& gate,
                                                   const mg::Vec<T, kVec>& up) {
  mg::Vec<T, kVec> y;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    const float g = mg::to_float(gate.data[i]);
    y.data[i] = mg::from_float<T>(g * mg::sigmoid<T>(g).value * mg::to_float(up.data[i]));
  }
  return y;
}

// The tiles of this block. run(start) gives the places of a run of vectors: run(start)(ahead).
template <int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, class T, class Run>
__device__ __forceinline__ void forward_tiles(const T* gate, mg::i64 gate_stride, const T* up,
                                              mg::i64 up_stride, T* y, mg::i64 vectors,
                                              const Run& run) {
  constexpr int kTile = kThreads * kUnroll;
  for (mg::i64 start = mg::i64{blockIdx.x} * kTile; start < vectors;
       start += mg::i64{gridDim.x} * kTile) {
    const auto place = run(start);
    const mg::i64 left = vectors - start;
    mg::Vec<T, kVec> gates[kUnroll], ups[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const mg::u32 ahead = i * kThreads + threadIdx.x;
      if (ahead >= left) continue;
      const mg::Place at = place(ahead);
      gates[i] = mg::load_hinted<kVec, kLoad>(gate + at.row * gate_stride + at.column * kVec);
      ups[i] = mg::load_hinted<kVec, kLoad>(up + at.row * up_stride + at.column * kVec);
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const mg::u32 ahead = i * kThreads + threadIdx.x;
      if (ahead >= left) continue;
      mg::store_hinted<kVec, kStore>(y + (start + ahead) * kVec, swiglu(gates[i], ups[i]));
    }
  }
}

template <class T, int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_forward(const T* gate, const T* up, T* y, mg::i64 elements) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  forward_tiles<kThreads, kVec, kUnroll, kLoad, kStore>(
      gate, 0, up, 0, y, elements / kVec, [](mg::i64 start) {
        return [start](mg::u32 ahead) { return mg::Place{0, start + ahead}; };
      });
  if constexpr (kVec > 1) {
    const mg::i64 last = elements / kVec * kVec + threadIdx.x;
    if (blockIdx.x == 0 && last < elements) {
      mg::store<1>(y + last, swiglu(mg::load<1>(gate + last), mg::load<1>(up + last)));
    }
  }
}

// columns is the vectors of a row, and reciprocal what <mg/row_split.cuh> wants of it.
template <class T, int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_forward_rows(const T* gate, const T* up, T* y, mg::i64 rows, mg::u32 columns,
                        mg::u64 reciprocal, mg::i64 gate_stride, mg::i64 up_stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  forward_tiles<kThreads, kVec, kUnroll, kLoad, kStore>(
      gate, gate_stride, up, up_stride, y, rows * columns,
      [&](mg::i64 start) { return mg::RowSplit(start, columns, reciprocal); });
}

template <class T, int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_packed_forward(const T* gate_up, T* y, mg::i64 rows, mg::u32 columns, mg::u64 reciprocal,
                          mg::i64 stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const T* const up = gate_up + mg::i64{columns} * kVec;
  forward_tiles<kThreads, kVec, kUnroll, kLoad, kStore>(
      gate_up, stride, up, stride, y, rows * columns,
      [&](mg::i64 start) { return mg::RowSplit(start, columns, reciprocal); });
}
