// The references of rmsnorm's operators: the formulas in fp64, with one warp per row.
//
// Algorithm  Each lane of a warp adds the squares of every 32nd element of a row, and the lanes add
//            up their sums in a fixed order. Then they scale the row. The inputs are the exact
//            values in memory. The outputs are not rounded, so that a variant's own rounding counts
//            as its error. The sum of add_forward is rounded to T, because the operator defines y
//            as the norm of the rounded sum.
// Traffic    reads x twice and weight once per row, writes 8 * rows * (hidden + 1) bytes. A single
//            thread would wait for the memory at each of up to 65,536 elements of a row.
// Numerics   The relative error is below hidden * 2^-53: 3e-11 for the widest row.

#include <mg/types.cuh>
#include <mg/vec.cuh>

constexpr int kLanes = 32;

// Calls visit(row, lane) for the rows of this thread's warp.
template <class Visit>
__device__ void for_each_row(mg::i64 rows, const Visit& visit) {
  const mg::i64 thread = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
  const mg::i64 warps = mg::i64{gridDim.x} * blockDim.x / kLanes;
  for (mg::i64 row = thread / kLanes; row < rows; row += warps) {
    visit(row, static_cast<int>(thread % kLanes));
  }
}

// The sum of value(i) over i below `count`, in every lane of the warp.
template <class Value>
__device__ double sum_over(mg::i64 count, int lane, const Value& value) {
  double sum = 0.0;
#pragma unroll 4
  for (mg::i64 i = lane; i < count; i += kLanes) sum += value(i);
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  return sum;
}

// Writes y and rstd of a row whose elements value(column) gives: rstd = 1 / sqrt(mean(x^2) + eps).
template <class Value, typename W, class Problem>
__device__ void normalize_row(const Value& value, mg::i64 row, int lane, const W* weight, double* y,
                              double* rstd, const Problem& problem) {
  const mg::i64 hidden = problem.hidden;
  const double squares =
      sum_over(hidden, lane, [&](mg::i64 column) { return value(column) * value(column); });
  const double scale =
      1.0 / sqrt(squares / static_cast<double>(hidden) + static_cast<double>(problem.eps));
  for (mg::i64 column = lane; column < hidden; column += kLanes) {
    const double w = static_cast<double>(problem.weight_offset) + mg::to_float(weight[column]);
    y[row * hidden + column] = value(column) * scale * w;
  }
  if (rstd != nullptr && lane == 0) rstd[row] = scale;
}

template <typename T, typename W, class Problem>
__global__ void rmsnorm_forward_reference(const T* x, const W* weight, double* y, double* rstd,
                                          Problem problem) {
  for_each_row(problem.rows, [&](mg::i64 row, int lane) {
    const auto value = [&](mg::i64 column) -> double {
      return mg::to_float(x[row * problem.x_stride + column]);
    };
    normalize_row(value, row, lane, weight, y, rstd, problem);
  });
}

template <typename T, typename W, class Problem>
__global__ void rmsnorm_add_forward_reference(const T* x, const T* residual, const W* weight,
                                              double* y, double* residual_out, double* rstd,
                                              Problem problem) {
  for_each_row(problem.rows, [&](mg::i64 row, int lane) {
    double* const s = residual_out + row * problem.hidden;
    for (mg::i64 column = lane; column < problem.hidden; column += kLanes) {
      const double sum = static_cast<double>(mg::to_float(x[row * problem.x_stride + column])) +
                         mg::to_float(residual[row * problem.hidden + column]);
      s[column] = mg::to_float(mg::from_float<T>(static_cast<float>(sum)));
    }
    // Each lane reads back what it wrote itself.
    normalize_row([&](mg::i64 column) { return s[column]; }, row, lane, weight, y, rstd, problem);
  });
}

// The gradients of y = x * rstd * (weight_offset + weight): dy becomes dx and dw, and dresidual is
// added to dx unless it is null. Every sum is in fp64.
//
// Algorithm  One warp per row computes dx. Then one warp per column adds up dw: each lane takes
//            every 32nd row. rstd is the input of the kernel under test, and is not computed
//            from x.
// Traffic    reads x and dy twice for dx and once more for dw.
// Numerics   The relative error is below max(rows, hidden) * 2^-53 of the largest term.
template <typename T, typename W, class Problem>
__device__ void backward_reference(const T* dy, const T* x, mg::i64 x_stride, const W* weight,
                                   const float* rstd, const T* dresidual, double* dx, double* dw,
                                   const Problem& problem) {
  const mg::i64 rows = problem.rows, hidden = problem.hidden;
  for_each_row(rows, [&](mg::i64 row, int lane) {
    const double scale = rstd[row];
    const auto normalized = [&](mg::i64 column) {
      return static_cast<double>(mg::to_float(x[row * x_stride + column])) * scale;
    };
    const auto scaled_dy = [&](mg::i64 column) {
      return static_cast<double>(mg::to_float(dy[row * hidden + column])) *
             (static_cast<double>(problem.weight_offset) +
              static_cast<double>(mg::to_float(weight[column])));
    };
    const double dot = sum_over(
        hidden, lane, [&](mg::i64 column) { return scaled_dy(column) * normalized(column); });
    const double mean = dot / static_cast<double>(hidden);
    for (mg::i64 column = lane; column < hidden; column += kLanes) {
      const mg::i64 at = row * hidden + column;
      dx[at] = scale * (scaled_dy(column) - normalized(column) * mean);
      if (dresidual != nullptr) dx[at] += static_cast<double>(mg::to_float(dresidual[at]));
    }
  });
  if (dw == nullptr) return;
  for_each_row(hidden, [&](mg::i64 column, int lane) {
    const double sum = sum_over(rows, lane, [&](mg::i64 row) {
      return static_cast<double>(mg::to_float(dy[row * hidden + column])) *
             static_cast<double>(mg::to_float(x[row * x_stride + column])) *
             static_cast<double>(rstd[row]);
    });
    if (lane == 0) dw[column] = sum;
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
