// An operator whose variants have one planted bug each, and where its source says what. Texts only.

#pragma once

#include <algorithm>
#include <string>

namespace mgtune {

// y = factor * x, a row per block, elements handed over through shared memory; sum adds a row of y.
inline constexpr char kScaleJson[] = R"json({
  "format": 1,
  "dims": {"rows": "dynamic", "columns": "dynamic",
           "x_stride": {"kind": "dynamic", "default": "columns"},
           "y_stride": {"kind": "dynamic", "default": "columns"}},
  "dtypes": {"T": ["f32", "f16"]},
  "scalars": {"factor": {"dtype": "f32", "check": 3.0}},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["rows", "columns"], "strides": ["x_stride", "1"],
          "fill": "normal"},
    "y": {"role": "out", "dtype": "T", "shape": ["rows", "columns"], "strides": ["y_stride", "1"]},
    "sum": {"role": "out", "dtype": "f32", "shape": ["rows"], "optional": true}
  },
  "cost": {"bytes": "2 * rows * columns * sizeof(T)", "flops": "rows * columns"},
  "check": {"reference": "scale_reference", "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "f16": 1e-3}},
  "designs": {
    "block": {
      "source": "scale.cu",
      "params": {"BUG": ["none", "past_end", "before_start", "silent", "stale", "changes_input",
                         "infinite", "last_element", "missing_barrier", "padding",
                         "divergent_shuffle", "reads_past_end", "wrong_sum"]},
      "launches": [{"kernel": "scale<T, BUG>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}],
      "defaults": [{"BUG": "none"}]
    },
    "atomic": {
      "source": "scale.cu", "params": {"FLAG": [0]}, "order_dependent": true,
      "launches": [{"kernel": "scale_atomic<T>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}]
    },
    "undeclared_atomic": {
      "source": "scale.cu", "params": {"FLAG": [0]},
      "launches": [{"kernel": "scale_atomic<T>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}]
    },
    "ticket": {
      "source": "scale.cu", "params": {"LEFT": [0, 1, 2]},
      "workspace": {"tickets": {"dtype": "u32", "shape": ["rows"], "zero": "once"},
                    "partials": {"dtype": "f32", "shape": ["rows"], "zero": "never"}},
      "launches": [{"kernel": "scale_ticket<T, LEFT>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "tickets", "partials", "factor", "columns:i64",
                             "x_stride:i64", "y_stride:i64"]}]
    },
    "picky": {
      "source": "scale.cu", "params": {"FLAG": [0]}, "constraints": ["columns % 8 == 0"],
      "launches": [{"kernel": "scale_atomic<T>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}]
    }
  }
})json";

inline constexpr char kScaleSource[] = R"cuda(
#include <mg/shared.cuh>
#include <mg/vec.cuh>

enum class BUG {
  none, past_end, before_start, silent, stale, changes_input, infinite, last_element,
  missing_barrier, padding, divergent_shuffle, reads_past_end, wrong_sum
};

template <typename T, BUG bug>
__global__ void scale(const T* x, T* y, float* sum, float factor, long long columns,
                      long long x_stride, long long y_stride) {
  MG_SHARED(float, tile, [128]);
  const int thread = threadIdx.x;
  const bool is_last_row = blockIdx.x == gridDim.x - 1;
  const T* const x_row = x + blockIdx.x * x_stride;
  T* const y_row = y + blockIdx.x * y_stride;
  tile[thread] = thread < columns ? factor * mg::to_float(x_row[thread]) : 0.0f;
  if (bug == BUG::divergent_shuffle && thread % 2 == 0) {
    tile[thread] += 0.0f * __shfl_xor_sync(0xffffffffu, tile[thread], 1);
  }
  if (bug != BUG::missing_barrier) __syncthreads();
  if (thread < columns && bug != BUG::silent) {
    const long long column = columns - 1 - thread;
    float value = tile[column];
    if (bug == BUG::stale) value += 0.0f * mg::to_float(y_row[column]);
    if (bug == BUG::infinite && is_last_row && column == 1) value = 1e30f * 1e30f;
    if (bug == BUG::last_element && is_last_row && thread == 0) value += 1.0f;
    y_row[column] = mg::from_float<T>(value);
  }
  const bool is_culprit = thread == 0 && is_last_row;
  if (bug == BUG::past_end && is_culprit) y_row[columns] = mg::from_float<T>(0.0f);
  if (bug == BUG::before_start && thread == 0 && blockIdx.x == 0) y[-1] = mg::from_float<T>(0.0f);
  if (bug == BUG::changes_input && is_culprit) const_cast<T*>(x_row)[2] = mg::from_float<T>(9.0f);
  if (bug == BUG::padding && thread == 0 && !is_last_row) y_row[columns] = mg::from_float<T>(0.0f);
  if (bug == BUG::reads_past_end && is_culprit) {
    const volatile T* const behind = x_row + columns;
    const T unused = const_cast<const T&>(behind[0]);
    if (mg::to_float(unused) == 12345.0f) y_row[0] = unused;
  }
  if (sum != nullptr && thread == 0) {
    float total = bug == BUG::wrong_sum ? 0.5f : 0.0f;
    for (int i = 0; i < columns; ++i) total += tile[i];
    sum[blockIdx.x] = total;
  }
}

template <typename T>
__global__ void scale_atomic(const T* x, T* y, float* sum, float factor, long long columns,
                             long long x_stride, long long y_stride) {
  MG_SHARED(float, total);
  const int thread = threadIdx.x;
  if (thread == 0) total = 0.0f;
  __syncthreads();
  if (thread < columns) {
    const float value = factor * mg::to_float(x[blockIdx.x * x_stride + thread]);
    y[blockIdx.x * y_stride + thread] = mg::from_float<T>(value);
    atomicAdd(&total, value);
  }
  __syncthreads();
  if (sum != nullptr && thread == 0) sum[blockIdx.x] = total;
}

template <typename T, int kLeft>
__global__ void scale_ticket(const T* x, T* y, float* sum, unsigned* tickets, float* partials,
                             float factor, long long columns, long long x_stride,
                             long long y_stride) {
  const int thread = threadIdx.x;
  if (thread == 0) {
    const bool is_zero = tickets[blockIdx.x] == 0;
    tickets[blockIdx.x] = kLeft == 1 ? 7 : 0;
    partials[blockIdx.x] = 0.0f;
    if (kLeft == 2 && blockIdx.x == gridDim.x - 1) partials[64] = 0.0f;
    if (!is_zero) return;
  }
  if (thread >= columns) return;
  y[blockIdx.x * y_stride + thread] =
      mg::from_float<T>(factor * mg::to_float(x[blockIdx.x * x_stride + thread]));
}
)cuda";

inline constexpr char kScaleReference[] = R"cuda(
#include <mg/vec.cuh>

template <typename T, class Problem>
__global__ void scale_reference(const T* x, double* y, double* sum, Problem problem) {
  for (long long row = blockIdx.x * blockDim.x + threadIdx.x; row < problem.rows;
       row += gridDim.x * blockDim.x) {
    double total = 0;
    for (long long column = 0; column < problem.columns; ++column) {
      const double value = static_cast<double>(problem.factor) *
                           mg::to_float(x[row * problem.x_stride + column]);
      y[row * problem.columns + column] = value;
      total += value;
    }
    if (sum != nullptr) sum[row] = total;
  }
}
)cuda";

// "scale.cu:20": where `text` first stands.
inline std::string line_of(const std::string& text) {
  const std::string source = kScaleSource;
  const auto end = source.begin() + static_cast<std::ptrdiff_t>(source.find(text));
  return "scale.cu:" + std::to_string(1 + std::count(source.begin(), end, '\n'));
}

}  // namespace mgtune
