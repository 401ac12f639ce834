// The references of the swiglu operators: the formulas read off, an element per thread, in fp64.
//
// Algorithm  threads stride over the elements. Inputs are what lies in memory, exactly; outputs are
//            not rounded, so that a variant's own rounding is part of the error it is charged with.
// Traffic    reads each input once, writes 8 bytes an output element.
// Numerics   fp64: e^-gate overflows to +Inf below gate = -709, and silu is then -0, as it should
// be
//            to 300 digits; gates of -Inf give NaN.

#include <mg/types.cuh>
#include <mg/vec.cuh>

__device__ inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

template <typename T>
__device__ double element(const T* tensor, mg::i64 row, mg::i64 stride, mg::i64 column) {
  return static_cast<double>(mg::to_float(tensor[row * stride + column]));
}

// Calls visit(row, column) for this thread's part of a rows x columns matrix.
template <class Visit>
__device__ void for_each_element(mg::i64 rows, mg::i64 columns, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * columns;
       i += threads) {
    visit(i / columns, i % columns);
  }
}

template <typename T>
__global__ void swiglu_forward_reference(const T* gate, const T* up, double* y, long long rows,
                                         long long hidden, long long gate_stride,
                                         long long up_stride) {
  for_each_element(rows, hidden, [&](mg::i64 row, mg::i64 column) {
    const double g = element(gate, row, gate_stride, column);
    y[row * hidden + column] = g * sigmoid(g) * element(up, row, up_stride, column);
  });
}

template <typename T>
__global__ void swiglu_packed_forward_reference(const T* gate_up, double* y, long long rows,
                                                long long hidden, long long stride) {
  for_each_element(rows, hidden, [&](mg::i64 row, mg::i64 column) {
    const double g = element(gate_up, row, stride, column);
    y[row * hidden + column] = g * sigmoid(g) * element(gate_up, row, stride, hidden + column);
  });
}

template <typename T>
__global__ void swiglu_backward_reference(const T* dy, const T* gate, const T* up, double* dgate,
                                          double* dup, long long rows, long long hidden,
                                          long long dy_stride, long long gate_stride,
                                          long long up_stride) {
  for_each_element(rows, hidden, [&](mg::i64 row, mg::i64 column) {
    const double d = element(dy, row, dy_stride, column);
    const double g = element(gate, row, gate_stride, column);
    const double s = sigmoid(g);
    dgate[row * hidden + column] =
        d * element(up, row, up_stride, column) * s * (1.0 + g * (1.0 - s));
    dup[row * hidden + column] = d * g * s;
  });
}

template <typename T>
__global__ void swiglu_packed_backward_reference(const T* dy, const T* gate_up, double* dgate_up,
                                                 long long rows, long long hidden,
                                                 long long dy_stride, long long stride) {
  for_each_element(rows, hidden, [&](mg::i64 row, mg::i64 column) {
    const double d = element(dy, row, dy_stride, column);
    const double g = element(gate_up, row, stride, column);
    const double s = sigmoid(g);
    const mg::i64 at = row * 2 * hidden + column;
    dgate_up[at] = d * element(gate_up, row, stride, hidden + column) * s * (1.0 + g * (1.0 - s));
    dgate_up[at + hidden] = d * g * s;
  });
}
