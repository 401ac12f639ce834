// rmsnorm.forward's reference — the formula read off, a row per thread, everything in fp64.
//
// Algorithm  one thread per row adds the squares one after the other, then scales. Inputs are what
//            lies in memory, exactly; outputs are not rounded, so that a variant's own rounding is
//            part of the error it is charged with.
// Traffic    reads x and weight once per row and x twice, writes 8 * rows * (hidden + 1) bytes. Not
//            fast, and need not be: it runs once per problem.
// Numerics   relative error below hidden * 2^-53, i.e. 1e-11 for the widest row.

#include <mg/types.cuh>
#include <mg/vec.cuh>

template <typename T>
__global__ void rmsnorm_forward_reference(const T* x, const T* weight, double* y, double* rstd,
                                          float eps, long long rows, long long hidden,
                                          long long x_stride) {
  const mg::i64 first = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 row = first; row < rows; row += threads) {
    const T* const x_row = x + row * x_stride;
    double squares = 0.0;
    for (mg::i64 column = 0; column < hidden; ++column) {
      const double value = mg::to_float(x_row[column]);
      squares += value * value;
    }
    const double scale =
        1.0 / sqrt(squares / static_cast<double>(hidden) + static_cast<double>(eps));
    for (mg::i64 column = 0; column < hidden; ++column) {
      y[row * hidden + column] = static_cast<double>(mg::to_float(x_row[column])) * scale *
                                 static_cast<double>(mg::to_float(weight[column]));
    }
    if (rstd != nullptr) rstd[row] = scale;
  }
}
