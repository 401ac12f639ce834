// The reference of layernorm.forward: the formula in fp64.
//
// Algorithm  One thread per row.
// Traffic    reads each row three times and writes it once.
// Numerics   The inputs are the exact values in memory. The relative error is below
//            columns * 2^-52.

#include <mg/types.cuh>
#include <mg/vec.cuh>

template <typename T, typename W, class Problem>
__global__ void layernorm_forward_reference(const T* x, const W* weight, const W* bias, double* y,
                                            Problem problem) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x, columns = problem.columns;
  for (mg::i64 row = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; row < problem.rows;
       row += threads) {
    const T* const from = x + row * problem.x_stride;
    double mean = 0.0, squares = 0.0;
    for (mg::i64 c = 0; c < columns; ++c) mean += mg::to_float(from[c]);
    mean /= columns;
    for (mg::i64 c = 0; c < columns; ++c) {
      squares += (mg::to_float(from[c]) - mean) * (mg::to_float(from[c]) - mean);
    }
    const double scale = 1.0 / sqrt(squares / columns + problem.eps);
    for (mg::i64 c = 0; c < columns; ++c) {
      y[row * columns + c] = (mg::to_float(from[c]) - mean) * scale * mg::to_float(weight[c]);
      if (bias != nullptr) y[row * columns + c] += mg::to_float(bias[c]);
    }
  }
}
