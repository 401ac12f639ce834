// swiglu.backward          dgate[r, c] = dy[r, c] * up[r, c] * s * (1 + gate[r, c] * (1 - s))
//                          dup[r, c]   = dy[r, c] * gate[r, c] * s      s = 1 / (1 + e^-gate[r, c])
// swiglu.packed_backward   the same; gate and up are the two halves of each row of one tensor,
//                          and dgate and dup are the two halves of each row of another
//
// The plain version: one thread computes one element.
//
//   __global__ void swiglu_backward(const T* dy, const T* gate, const T* up, T* dgate, T* dup,
//                                   long elements) {
//     long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
//     if (i >= elements) return;
//     float d = dy[i], g = gate[i], u = up[i];
//     float s = 1 / (1 + expf(-g));
//     dgate[i] = d * u * s * (1 + g * (1 - s));
//     dup[i] = d * g * s;
//   }
//
// It is slow for 16-bit types, as the plain version of forward.cu is. It also loses digits: 1 - s
// cancels for large gates.
//
// Algorithm  As in forward.cu: elements are counted row by row and cut into vectors and tiles, and
//            a thread loads all its vectors before it computes.
//            s is computed again from gate. This saves a tensor that the forward operator would
//            have to write.
// Traffic    It reads 3 * rows * hidden elements of T and writes 2 * rows * hidden, each once.
// Work       12 flops per element, two of them in the special function unit. The kernel is bound by
//            memory.
// Tunables   THREADS, VEC, UNROLL, ROWS, LOAD, STORE and PDL trade the same as in forward.cu.
// Numerics   Everything is fp32; each output is rounded to T once. s and 1 - s keep their relative
//            accuracy for every gate (<mg/sigmoid.cuh>). 1 + gate * (1 - s) cancels near -1.278,
//            where dgate crosses 0; the error there is 2^-22 of dy * up. The result is NaN where
//            the formula gives NaN: for a gate of -Inf, and in dgate for +Inf too. |dy * up| must
//            stay finite in fp32. dgate and dup may be gate, up or dy themselves if the strides are
//            the same; they must not overlap the inputs in any other way.

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
struct Gradients {
  mg::Vec<T, kVec> gate, up;
};

template <class T, int kVec>
__device__ __forceinline__ Gradients<T, kVec> swiglu_gradients(const mg::Vec<T, kVec>& dy,
                                                               const mg::Vec<T, kVec>& gate,
                                                               const mg::Vec<T, kVec>& up) {
  float d[kVec], g[kVec], u[kVec], d_gate[kVec], d_up[kVec];
  mg::to_floats(dy, d);
  mg::to_floats(gate, g);
  mg::to_floats(up, u);
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    const mg::Sigmoid s = mg::sigmoid<T>(g[i]);
    const float slope = s.value * (1.0f + g[i] * s.rest);
    d_gate[i] = d[i] * u[i] * slope;
    d_up[i] = d[i] * (g[i] * s.value);
  }
  return {mg::from_floats<T>(d_gate), mg::from_floats<T>(d_up)};
}

// The tensors of a problem and the distances between their rows.
template <class T>
struct Tensors {
  const T *dy, *gate, *up;
  T *dgate, *dup;
  mg::i64 dy_stride, gate_stride, up_stride, out_stride;
};

// Computes the block's tile. `left` is the number of vectors from its start to the end of the data.
template <int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, class T, class Tile>
__device__ __forceinline__ void backward_tile(const Tile& tile, mg::i64 left, const Tensors<T>& t) {
  mg::Vec<T, kVec> dys[kUnroll], gates[kUnroll], ups[kUnroll];
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const mg::u32 ahead = i * kThreads + threadIdx.x;
    if (ahead >= left) continue;
    dys[i] = mg::load_hinted<kVec, kLoad>(t.dy + tile.template offset<kVec>(ahead, t.dy_stride));
    gates[i] =
        mg::load_hinted<kVec, kLoad>(t.gate + tile.template offset<kVec>(ahead, t.gate_stride));
    ups[i] = mg::load_hinted<kVec, kLoad>(t.up + tile.template offset<kVec>(ahead, t.up_stride));
  }
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const mg::u32 ahead = i * kThreads + threadIdx.x;
    if (ahead >= left) continue;
    const Gradients<T, kVec> gradients = swiglu_gradients(dys[i], gates[i], ups[i]);
    const mg::i64 out = tile.template offset<kVec>(ahead, t.out_stride);
    mg::store_hinted<kVec, kStore>(t.dgate + out, gradients.gate);
    mg::store_hinted<kVec, kStore>(t.dup + out, gradients.up);
  }
}

template <class T, int kThreads, int kVec, int kUnroll, LOAD kLoad, STORE kStore, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_backward(const T* dy, const T* gate, const T* up, T* dgate, T* dup, mg::i64 elements) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 start = mg::i64{blockIdx.x} * (kThreads * kUnroll);
  backward_tile<kThreads, kVec, kUnroll, kLoad, kStore>(
      mg::OneRun(start), elements / kVec - start, Tensors<T>{dy, gate, up, dgate, dup, 0, 0, 0, 0});
  if constexpr (kVec > 1) {
    const mg::i64 last = elements / kVec * kVec + threadIdx.x;
    if (blockIdx.x == 0 && last < elements) {
      const Gradients<T, 1> gradients = swiglu_gradients(
          mg::load<1>(dy + last), mg::load<1>(gate + last), mg::load<1>(up + last));
      mg::store<1>(dgate + last, gradients.gate);
      mg::store<1>(dup + last, gradients.up);
    }
  }
}

// `columns` is the number of vectors in a row. `reciprocal` is its reciprocal as <mg/row_split.cuh>
// defines it.
template <int kThreads, int kVec, int kUnroll, ROWS kRows, LOAD kLoad, STORE kStore, bool kPdl,
          class T>
__device__ __forceinline__ void backward_rows(const Tensors<T>& tensors, mg::i64 rows,
                                              mg::u32 columns, mg::u64 reciprocal) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 start = mg::i64{blockIdx.x} * (kThreads * kUnroll);
  const mg::i64 left = rows * columns - start;
  if constexpr (kRows == ROWS::wide) {
    backward_tile<kThreads, kVec, kUnroll, kLoad, kStore>(mg::WideRows(start, columns, reciprocal),
                                                          left, tensors);
  } else {
    backward_tile<kThreads, kVec, kUnroll, kLoad, kStore>(
        mg::NarrowRows(start, columns, reciprocal), left, tensors);
  }
}

template <class T, int kThreads, int kVec, int kUnroll, ROWS kRows, LOAD kLoad, STORE kStore,
          bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_backward_rows(const T* dy, const T* gate, const T* up, T* dgate, T* dup, mg::i64 rows,
                         mg::u32 columns, mg::u64 reciprocal, mg::i64 dy_stride,
                         mg::i64 gate_stride, mg::i64 up_stride) {
  const mg::i64 hidden = mg::i64{columns} * kVec;
  backward_rows<kThreads, kVec, kUnroll, kRows, kLoad, kStore, kPdl>(
      Tensors<T>{dy, gate, up, dgate, dup, dy_stride, gate_stride, up_stride, hidden}, rows,
      columns, reciprocal);
}

template <class T, int kThreads, int kVec, int kUnroll, ROWS kRows, LOAD kLoad, STORE kStore,
          bool kPdl>
__global__ void __launch_bounds__(kThreads)
    swiglu_packed_backward(const T* dy, const T* gate_up, T* dgate_up, mg::i64 rows,
                           mg::u32 columns, mg::u64 reciprocal, mg::i64 dy_stride, mg::i64 stride) {
  const mg::i64 hidden = mg::i64{columns} * kVec;
  backward_rows<kThreads, kVec, kUnroll, kRows, kLoad, kStore, kPdl>(
      Tensors<T>{dy, gate_up, gate_up + hidden, dgate_up, dgate_up + hidden, dy_stride, stride,
                 stride, 2 * hidden},
      rows, columns, reciprocal);
}
