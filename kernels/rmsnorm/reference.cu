// The references of rmsnorm's operators — the formulas read off, a row per thread, everything in
// fp64.
//
// Algorithm  one thread per row adds the squares one after the other, then scales. Inputs are what
//            lies in memory, exactly; outputs are not rounded, so that a variant's own rounding is
//            part of the error it is charged with. The sum of add_forward is rounded to T, as the
//            operator says: y is the norm of that.
// Traffic    reads x and weight once per row and x twice, writes 8 * rows * (hidden + 1) bytes. Not
//            fast, and need not be: it runs once per problem.
// Numerics   relative error below hidden * 2^-53, i.e. 3e-11 for the widest row.

#include <mg/types.cuh>
#include <mg/vec.cuh>

// 1 / sqrt(mean(x^2) + eps) over a row whose elements value(column) gives.
template <class Value>
__device__ double rstd_of_row(const Value& value, mg::i64 hidden, float eps) {
  double squares = 0.0;
  for (mg::i64 column = 0; column < hidden; ++column) squares += value(column) * value(column);
  return 1.0 / sqrt(squares / static_cast<double>(hidden) + static_cast<double>(eps));
}

template <typename T, typename W>
__global__ void rmsnorm_forward_reference(const T* x, const W* weight, double* y, double* rstd,
                                          float eps, float weight_offset, long long rows,
                                          long long hidden, long long x_stride) {
  const mg::i64 first = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 row = first; row < rows; row += threads) {
    const auto value = [&](mg::i64 column) -> double {
      return mg::to_float(x[row * x_stride + column]);
    };
    const double scale = rstd_of_row(value, hidden, eps);
    for (mg::i64 column = 0; column < hidden; ++column) {
      const double w = static_cast<double>(weight_offset) + mg::to_float(weight[column]);
      y[row * hidden + column] = value(column) * scale * w;
    }
    if (rstd != nullptr) rstd[row] = scale;
  }
}

template <typename T, typename W>
__global__ void rmsnorm_add_forward_reference(const T* x, const T* residual, const W* weight,
                                              double* y, double* residual_out, double* rstd,
                                              float eps, float weight_offset, long long rows,
                                              long long hidden, long long x_stride) {
  const mg::i64 first = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 row = first; row < rows; row += threads) {
    double* const s = residual_out + row * hidden;
    for (mg::i64 column = 0; column < hidden; ++column) {
      const double sum = static_cast<double>(mg::to_float(x[row * x_stride + column])) +
                         mg::to_float(residual[row * hidden + column]);
      s[column] = mg::to_float(mg::from_float<T>(static_cast<float>(sum)));
    }
    const double scale = rstd_of_row([&](mg::i64 column) { return s[column]; }, hidden, eps);
    for (mg::i64 column = 0; column < hidden; ++column) {
      const double w = static_cast<double>(weight_offset) + mg::to_float(weight[column]);
      y[row * hidden + column] = s[column] * scale * w;
    }
    if (rstd != nullptr) rstd[row] = scale;
  }
}

// rmsnorm.backward's and rmsnorm.add_backward's reference: of y = x * rstd * (weight_offset +
// weight), what arrives as dy becomes dx and dw, every sum in fp64.
//
// Algorithm  one thread per row computes dx; then one thread per column walks down the rows for dw.
//            rstd is what the kernel under test is given, not computed from x.
// Traffic    reads x and dy twice for dx, once more for dw.
// Numerics   relative error below max(rows, hidden) * 2^-53 of the largest term.
template <typename T, typename W>
__device__ void backward_reference(const T* dy, const T* x, const W* weight, const float* rstd,
                                   const T* dresidual, double* dx, double* dw, float weight_offset,
                                   long long rows, long long hidden, long long x_stride) {
  const mg::i64 first = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 row = first; row < rows; row += threads) {
    const double scale = rstd[row];
    const auto normalized = [&](mg::i64 column) {
      return static_cast<double>(mg::to_float(x[row * x_stride + column])) * scale;
    };
    const auto scaled_dy = [&](mg::i64 column) {
      return static_cast<double>(mg::to_float(dy[row * hidden + column])) *
             (static_cast<double>(weight_offset) +
              static_cast<double>(mg::to_float(weight[column])));
    };
    double dot = 0.0;
    for (mg::i64 column = 0; column < hidden; ++column) {
      dot += scaled_dy(column) * normalized(column);
    }
    const double mean = dot / static_cast<double>(hidden);
    for (mg::i64 column = 0; column < hidden; ++column) {
      const mg::i64 at = row * hidden + column;
      dx[at] = scale * (scaled_dy(column) - normalized(column) * mean);
      if (dresidual != nullptr) dx[at] += static_cast<double>(mg::to_float(dresidual[at]));
    }
  }
  if (dw == nullptr) return;
  for (mg::i64 column = first; column < hidden; column += threads) {
    double sum = 0.0;
    for (mg::i64 row = 0; row < rows; ++row) {
      sum += static_cast<double>(mg::to_float(dy[row * hidden + column])) *
             static_cast<double>(mg::to_float(x[row * x_stride + column])) *
             static_cast<double>(rstd[row]);
    }
    dw[column] = sum;
  }
}

template <typename T, typename W>
__global__ void rmsnorm_backward_reference(const T* dy, const T* x, const W* weight,
                                           const float* rstd, double* dx, double* dw,
                                           float weight_offset, long long rows, long long hidden,
                                           long long x_stride) {
  backward_reference<T, W>(dy, x, weight, rstd, nullptr, dx, dw, weight_offset, rows, hidden,
                           x_stride);
}

template <typename T, typename W>
__global__ void rmsnorm_add_backward_reference(const T* dy, const T* s, const W* weight,
                                               const float* rstd, const T* dresidual, double* dx,
                                               double* dw, float weight_offset, long long rows,
                                               long long hidden, long long s_stride) {
  backward_reference(dy, s, weight, rstd, dresidual, dx, dw, weight_offset, rows, hidden, s_stride);
}
