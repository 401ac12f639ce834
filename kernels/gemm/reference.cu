// The reference of gemm.forward: the formula in fp64, with one thread per element of y.
//
// Algorithm  Only the rows of y that the check compares are computed. Threads stride over their
//            elements.
// Traffic    reads x and w once per element of y, mostly from caches. Writes 8 bytes per element.
// Numerics   The inputs are the exact values in memory, and y is not rounded. The relative error is
//            below k * 2^-52.

#include <mg/sampled_rows.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <typename T, class Problem>
__global__ void gemm_forward_reference(const T* x, const T* w, const T* bias, const T* residual,
                                       double* y, Problem problem) {
  mg::for_each_sampled_element(problem.m, problem.n, [&](mg::i64 row, mg::i64 column) {
    double value =
        mg::exact_dot(x + row * problem.x_stride, w + column * problem.w_stride, problem.k);
    if (bias != nullptr) value += static_cast<double>(mg::to_float(bias[column]));
    if (problem.relu) value = value < 0.0 ? 0.0 : value;
    if (problem.gelu) value = 0.5 * value * erfc(-value * 0.70710678118654752440);
    if (problem.silu) value = value / (1.0 + exp(-value));
    if (residual != nullptr) {
      value += static_cast<double>(mg::to_float(residual[row * problem.residual_stride + column]));
    }
    y[row * problem.n + column] = value;
  });
}
