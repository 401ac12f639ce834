// swiglu.forward          y[r, c] = silu(gate[r, c]) * up[r, c]         silu(g) = g / (1 + e^-g)
// swiglu.packed_forward   the same; gate and up are the two halves of each row of one tensor
//
// The plain version: one thread computes one element.
//
//   __global__ void swiglu(const T* gate, const T* up, T* y, long elements) {
//     long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
//     if (i >= elements) return;
//     float g = gate[i];
//     y[i] = g / (1 + expf(-g)) * (float)up[i];
//   }
//
// It is slow for 16-bit types: a thread loads only 2 bytes at a time, so it needs many instructions
// and has few bytes in flight.
//
// Algorithm  Elements are counted row by row and cut into vectors of VEC elements. One block
//            computes one tile of THREADS * UNROLL vectors.
//            A thread loads all its vectors before it computes, so their latencies overlap.
//            swiglu_forward is for tensors without gaps between rows. It sees one long run of
//            elements, whatever the width, and computes the last elements one by one.
//            The other kernels find the row of each vector without a division (<mg/row_split.cuh>).
// Traffic    It reads 2 * rows * hidden elements of T and writes rows * hidden, each once.
// Work       6 flops per element, two of them in the special function unit. The kernel is bound by
//            memory.
// Tunables   THREADS   The threads of a block. Larger blocks are fewer; smaller blocks spread more
//                      evenly over the SMs.
//            VEC       The elements of an access. 16 bytes need the fewest instructions. Fewer
//                      bytes give small problems more threads, and serve odd sizes, strides and
//                      pointers.
//            UNROLL    The vectors of each input that a thread has in flight. Each costs registers.
//            ROWS      wide is for rows that have at least as many vectors as a tile; narrow is for
//                      all others.
//            LOAD, STORE   Whether the caches are told that the data is not used again.
//            PDL       The grid starts before the previous one has ended, which hides the launch.
// Numerics   Everything is fp32; y is rounded to T once, at the end. The sigmoid keeps its relative
//            accuracy for every gate (<mg/sigmoid.cuh>). A gate of -Inf gives NaN (-Inf * 0), as
//            the formula does. y may be gate or up itself if it has the same strides; it must not
//            overlap them in any other way.

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

// Computes the block's tile. `left` is the number of vectors from its start to the end of the data.
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

// `columns` is the number of vectors in a row. `reciprocal` is its reciprocal as <mg/row_split.cuh>
// defines it.
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
