// The reference of swiglu.gate_up: the formulas in fp64, with one thread per element of h.
//
// Algorithm  Only the rows of the outputs that the check compares are computed. Threads stride over
//            their elements.
// Traffic    reads x and both weights once per element of h, mostly from caches. Writes 8 bytes per
//            element of each output.
// Work       4 * n * k flops in fp64 per row.
// Tunables   none
// Numerics   The inputs are the exact values in memory, and the outputs are not rounded. The
//            relative error of gate and up is below k * 2^-52.

#include <mg/sampled_rows.cuh>
#include <mg/types.cuh>

template <typename T, class Problem>
__global__ void swiglu_gate_up_reference(const T* x, const T* gate_w, const T* up_w, double* h,
                                         double* gate, double* up, Problem problem) {
  mg::for_each_sampled_element(problem.m, problem.n, [&](mg::i64 row, mg::i64 column) {
    const T* const from = x + row * problem.x_stride;
    const double g = mg::exact_dot(from, gate_w + column * problem.gate_w_stride, problem.k);
    const double u = mg::exact_dot(from, up_w + column * problem.up_w_stride, problem.k);
    const mg::i64 at = row * problem.n + column;
    h[at] = g / (1.0 + exp(-g)) * u;
    if (gate != nullptr) gate[at] = g;
    if (up != nullptr) up[at] = u;
  });
}
