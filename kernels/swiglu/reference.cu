// The references of the swiglu operators: the formulas in fp64, with one thread per element.
//
// Algorithm  Threads stride over the elements. The inputs are the exact values in memory. The
//            outputs are not rounded, so that a variant's own rounding counts as its error.
// Traffic    reads every input once, writes 8 bytes per output element.
// Numerics   Below gate = -709, e^-gate overflows to +Inf in fp64. silu is then -0, which is right
//            to 300 digits. A gate of -Inf gives NaN.

#include <mg/types.cuh>
#include <mg/vec.cuh>

__device__ inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

template <typename T>
__device__ double element(const T* tensor, mg::i64 row, mg::i64 stride, mg::i64 column) {
  return static_cast<double>(mg::to_float(tensor[row * stride + column]));
}

// Calls visit(row, column) for this thread's elements of a rows x columns matrix.
template <class Visit>
__device__ void for_each_element(mg::i64 rows, mg::i64 columns, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * columns;
       i += threads) {
    visit(i / columns, i % columns);
  }
}

template <typename T, class Problem>
__global__ void swiglu_forward_reference(const T* gate, const T* up, double* y, Problem problem) {
  for_each_element(problem.rows, problem.hidden, [&](mg::i64 row, mg::i64 column) {
    const double g = element(gate, row, problem.gate_stride, column);
    y[row * problem.hidden + column] = g * sigmoid(g) * element(up, row, problem.up_stride, column);
  });
}

template <typename T, class Problem>
__global__ void swiglu_packed_forward_reference(const T* gate_up, double* y, Problem problem) {
  const mg::i64 hidden = problem.hidden, stride = problem.gate_up_stride;
  for_each_element(problem.rows, hidden, [&](mg::i64 row, mg::i64 column) {
    const double g = element(gate_up, row, stride, column);
    y[row * hidden + column] = g * sigmoid(g) * element(gate_up, row, stride, hidden + column);
  });
}

template <typename T, class Problem>
__global__ void swiglu_backward_reference(const T* dy, const T* gate, const T* up, double* dgate,
                                          double* dup, Problem problem) {
  for_each_element(problem.rows, problem.hidden, [&](mg::i64 row, mg::i64 column) {
    const double d = element(dy, row, problem.dy_stride, column);
    const double g = element(gate, row, problem.gate_stride, column);
    const double s = sigmoid(g);
    const mg::i64 at = row * problem.hidden + column;
    dgate[at] = d * element(up, row, problem.up_stride, column) * s * (1.0 + g * (1.0 - s));
    dup[at] = d * g * s;
  });
}

template <typename T, class Problem>
__global__ void swiglu_packed_backward_reference(const T* dy, const T* gate_up, double* dgate_up,
                                                 Problem problem) {
  const mg::i64 hidden = problem.hidden, stride = problem.gate_up_stride;
  for_each_element(problem.rows, hidden, [&](mg::i64 row, mg::i64 column) {
    const double d = element(dy, row, problem.dy_stride, column);
    const double g = element(gate_up, row, stride, column);
    const double s = sigmoid(g);
    const mg::i64 at = row * 2 * hidden + column;
    dgate_up[at] = d * element(gate_up, row, stride, hidden + column) * s * (1.0 + g * (1.0 - s));
    dgate_up[at + hidden] = d * g * s;
  });
}
