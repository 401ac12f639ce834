// The references of rmsnorm's operators: the formulas in fp64, with one thread per row.
//
// Algorithm  One thread adds the squares of a row one after the other and then scales the row. The
//            inputs are the exact values in memory. The outputs are not rounded, so that a
//            variant's own rounding counts as its error. The sum of add_forward is rounded to T,
//            because the operator defines y as the norm of the rounded sum.
// Traffic    reads x twice and weight once per row, writes 8 * rows * (hidden + 1) bytes. This is
//            not fast and need not be: a reference runs once per problem.
// Numerics   The relative error is below hidden * 2^-53: 3e-11 for the widest row.

#include <mg/types.cuh>
#include <mg/vec.cuh>

// Calls visit(row) for this thread's rows.
template <class Visit>
__device__ void for_each_row(mg::i64 rows, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 row = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += threads) {
    visit(row);
  }
}

// 1 / sqrt(mean(x^2) + eps) over a row whose elements value(column) gives.
template <class Value>
__device__ double rstd_of_row(const Value& value, mg::i64 hidden, float eps) {
  double squares = 0.0;
  for (mg::i64 column = 0; column < hidden; ++column) squares += value(column) * value(column);
  return 1.0 / sqrt(squares / static_cast<double>(hidden) + static_cast<double>(eps));
}

// Writes y and rstd of a row whose elements value(column) gives.
template <class Value, typename W, class Problem>
__device__ void normalize_row(const Value& value, mg::i64 row, const W* weight, double* y,
                              double* rstd, const Problem& problem) {
  const double scale = rstd_of_row(value, problem.hidden, problem.eps);
  for (mg::i64 column = 0; column < problem.hidden; ++column) {
    const double w = static_cast<double>(problem.weight_offset) + mg::to_float(weight[column]);
    y[row * problem.hidden + column] = value(column) * scale * w;
  }
  if (rstd != nullptr) rstd[row] = scale;
}

template <typename T, typename W, class Problem>
__global__ void rmsnorm_forward_reference(const T* x, const W* weight, double* y, double* rstd,
                                          Problem problem) {
  for_each_row(problem.rows, [&](mg::i64 row) {
    const auto value = [&](mg::i64 column) -> double {
      return mg::to_float(x[row * problem.x_stride + column]);
    };
    normalize_row(value, row, weight, y, rstd, problem);
  });
}

template <typename T, typename W, class Problem>
__global__ void rmsnorm_add_forward_reference(const T* x, const T* residual, const W* weight,
                                              double* y, double* residual_out, double* rstd,
                                              Problem problem) {
  for_each_row(problem.rows, [&](mg::i64 row) {
    double* const s = residual_out + row * problem.hidden;
    for (mg::i64 column = 0; column < problem.hidden; ++column) {
      const double sum = static_cast<double>(mg::to_float(x[row * problem.x_stride + column])) +
                         mg::to_float(residual[row * problem.hidden + column]);
      s[column] = mg::to_float(mg::from_float<T>(static_cast<float>(sum)));
    }
    normalize_row([&](mg::i64 column) { return s[column]; }, row, weight, y, rstd, problem);
  });
}

// The gradients of y = x * rstd * (weight_offset + weight): dy becomes dx and dw, and dresidual is
// added to dx unless it is null. Every sum is in fp64.
//
// Algorithm  One thread per row computes dx. Then one thread per column walks down the rows for dw.
//            rstd is the input of the kernel under test, and is not computed from x.
// Traffic    reads x and dy twice for dx and once more for dw.
// Numerics   The relative error is below max(rows, hidden) * 2^-53 of the largest term.
template <typename T, typename W, class Problem>
__device__ void backward_reference(const T* dy, const T* x, mg::i64 x_stride, const W* weight,
                                   const float* rstd, const T* dresidual, double* dx, double* dw,
                                   const Problem& problem) {
  const mg::i64 rows = problem.rows, hidden = problem.hidden;
  for_each_row(rows, [&](mg::i64 row) {
    const double scale = rstd[row];
    const auto normalized = [&](mg::i64 column) {
      return static_cast<double>(mg::to_float(x[row * x_stride + column])) * scale;
    };
    const auto scaled_dy = [&](mg::i64 column) {
      return static_cast<double>(mg::to_float(dy[row * hidden + column])) *
             (static_cast<double>(problem.weight_offset) +
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
  });
  if (dw == nullptr) return;
  for_each_row(hidden, [&](mg::i64 column) {
    double sum = 0.0;
    for (mg::i64 row = 0; row < rows; ++row) {
      sum += static_cast<double>(mg::to_float(dy[row * hidden + column])) *
             static_cast<double>(mg::to_float(x[row * x_stride + column])) *
             static_cast<double>(rstd[row]);
    }
    dw[column] = sum;
  });
}

template <typename T, typename W, class Problem>
__global__ void rmsnorm_backward_reference(const T* dy, const T* x, const W* weight,
                                           const float* rstd, double* dx, double* dw,
                                           Problem problem) {
  const T* const no_dresidual = nullptr;
  backward_reference(dy, x, problem.x_stride, weight, rstd, no_dresidual, dx, dw, problem);
}

template <typename T, typename W, class Problem>
__global__ void rmsnorm_add_backward_reference(const T* dy, const T* s, const W* weight,
                                               const float* rstd, const T* dresidual, double* dx,
                                               double* dw, Problem problem) {
  backward_reference(dy, s, problem.s_stride, weight, rstd, dresidual, dx, dw, problem);
}
