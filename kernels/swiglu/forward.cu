// swiglu.forward          y[r, c] = silu(gate[r, c]) * up[r, c]         silu(g) = g / (1 + e^-g)
// swiglu.packed_forward   the same, gate and up being the halves of each row of one tensor
//
// Algorithm  Elements are counted row by row and cut into vectors of VEC, vectors into tiles of
//            THREADS * UNROLL, one a block. A thread loads all its vectors before it computes.
//            swiglu_forward is for tensors without gaps between their rows: one run, whatever the
//            width, the last elements one by one. The others find each vector's row
//            (<mg/row_split.cuh>).
// Traffic    reads 2 * rows * hidden elements of T, writes rows * hidden, each once.
// Work       6 flops an element, two of them in the special function unit: bound by memory.
// Tunables   THREADS   of a block               trade: fewer blocks vs an even spread over SMs
//            VEC       elements of an access; 16 bytes need the fewest instructions, less gives
//                      small problems more threads, and serves odd sizes, strides and pointers
//            UNROLL    vectors a thread has in flight of each input; many cost registers
//            ROWS      wide where a row has a tile's vectors or more, else narrow
//            LOAD, STORE   whether caches are told that nothing is used again
//            PDL       start before the kernel ahead has ended: hides the launch
// Numerics   fp32 throughout, rounded to T once, at the end. The sigmoid keeps its relative
//            accuracy for every gate (<mg/sigmoid.cuh>); gates of -Inf give NaN (-Inf * 0), as the
//            formula does. y may be gate or up itself where it has the same strides; it must not
//            overlap them otherwise.

#include <mg/cache_hint.cuh>
#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/row_split.cuh>
#include <mg/sigmoid.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using LOAD = mg::Cache;
using STORE = mg::Cache;
enum class ROWS { wide, narrow };

template <class T, int kVec>
__device__ __forceinline__ mg::Vec<T, kVec> swiglu(const mg::Vec<T, kVec>& gate,
                                                   const mg::Vec<T, kVec>& up) {
  float g[kVec], u[kVec];
  mg::to_floats(gate, g);
  mg::to_floats(up, u);
#pragma unroll
  for (int i = 0; i < kVec; ++i) u[i] *= g[i] * mg::sigmoid<T>(g[i]).value;
  return mg::from_floats<T>(u);
}

// The block's tile, of which `left` vectors are there.
template <int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, class T, class Tile>
__device__ __forceinline__ void forward_tile(const Tile& tile, mg::i64 left, const T* gate,
                                             mg::i64 gate_stride, const T* up, mg::i64 up_stride,
                                             T* y, mg::i64 y_stride) {
  mg::Vec<T, kVec> gates[kUnroll], ups[kUnroll];
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const mg::u32 ahead = i * kThreads + threadIdx.x;
    if (ahead >= left) continue;
    gates[i] = mg::load_hinted<kVec, kLoad>(gate + tile.template offset<kVec>(ahead, gate_stride));
    ups[i] = mg::load_hinted<kVec, kLoad>(up + tile.template offset<kVec>(ahead, up_stride));
  }
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const mg::u32 ahead = i * kThreads + threadIdx.x;
    if (ahead >= left) continue;
    mg::store_hinted<kVec, kStore>(y + tile.template offset<kVec>(ahead, y_stride),
                                   swiglu(gates[i], ups[i]));
  }
}

template <class T, int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_forward(const T* gate, const T* up, T* y, mg::i64 elements) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 start = mg::i64{blockIdx.x} * (kThreads * kUnroll);
  forward_tile<kThreads, kVec, kUnroll, kLoad, kStore>(mg::OneRun(start), elements / kVec - start,
                                                       gate, 0, up, 0, y, 0);
  if constexpr (kVec > 1) {
    const mg::i64 last = elements / kVec * kVec + threadIdx.x;
    if (blockIdx.x == 0 && last < elements) {
      mg::store<1>(y + last, swiglu(mg::load<1>(gate + last), mg::load<1>(up + last)));
    }
  }
}

// `columns` is the vectors of a row, and `reciprocal` what <mg/row_split.cuh> wants of it.
template <int kThreads, int kVec, int kUnroll, ROWS kRows, LOAD kLoad, STORE kStore, bool kPdl,
          class T>
__device__ __forceinline__ void forward_rows(const T* gate, mg::i64 gate_stride, const T* up,
                                             mg::i64 up_stride, T* y, mg::i64 rows, mg::u32 columns,
                                             mg::u64 reciprocal) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 start = mg::i64{blockIdx.x} * (kThreads * kUnroll);
  const mg::i64 left = rows * columns - start, y_stride = mg::i64{columns} * kVec;
  if constexpr (kRows == ROWS::wide) {
    forward_tile<kThreads, kVec, kUnroll, kLoad, kStore>(mg::WideRows(start, columns, reciprocal),
                                                         left, gate, gate_stride, up, up_stride, y,
                                                         y_stride);
  } else {
    forward_tile<kThreads, kVec, kUnroll, kLoad, kStore>(mg::NarrowRows(start, columns, reciprocal),
                                                         left, gate, gate_stride, up, up_stride, y,
                                                         y_stride);
  }
}

template <class T, int kThreads, int kVec, int kUnroll, ROWS kRows, LOAD kLoad, STORE kStore,
          bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_forward_rows(const T* gate, const T* up, T* y, mg::i64 rows, mg::u32 columns,
                        mg::u64 reciprocal, mg::i64 gate_stride, mg::i64 up_stride) {
  forward_rows<kThreads, kVec, kUnroll, kRows, kLoad, kStore, kPdl>(
      gate, gate_stride, up, up_stride, y, rows, columns, reciprocal);
}

template <class T, int kThreads, int kVec, int kUnroll, ROWS kRows, LOAD kLoad, STORE kStore,
          bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_packed_forward(const T* gate_up, T* y, mg::i64 rows, mg::u32 columns, mg::u64 reciprocal,
                          mg::i64 stride) {
  forward_rows<kThreads, kVec, kUnroll, kRows, kLoad, kStore, kPdl>(
      gate_up, stride, gate_up + mg::i64{columns} * kVec, stride, y, rows, columns, reciprocal);
}
