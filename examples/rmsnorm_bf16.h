/* RMSNorm in bfloat16 on the host. The examples share these random values, the reference in double
 * precision that they compare their results with, and the function that reports a failure. */
#ifndef MGTUNE_EXAMPLES_RMSNORM_BF16_H_
#define MGTUNE_EXAMPLES_RMSNORM_BF16_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mgruntime/mgruntime.hpp>
#include <random>
#include <vector>

constexpr double kEps = 1e-5;
constexpr double kTolerance = 1.0 / 128;  // relative, per element: bf16 keeps 8 bits

using Values = std::vector<std::uint16_t>;  // bfloat16: the upper half of a float

/* Prints the failure. Returns the exit code of the program. */
inline int fail(const char* what, const mgr::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message.c_str());
  return 1;
}

inline std::uint16_t to_bf16(float value) {  // round to nearest even; not for NaN
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float from_bf16(std::uint16_t value) {
  const std::uint32_t bits = std::uint32_t{value} << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

inline Values random_values(std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Values values(static_cast<std::size_t>(count));
  for (std::uint16_t& value : values) value = to_bf16(normal(random));
  return values;
}

inline double relative_error(double value, double expected) {
  const double error = std::abs(value - expected) / std::max(std::abs(expected), 1e-3);
  return std::isnan(error) ? INFINITY : error;
}

/* 1 / sqrt(the mean of the squares of a row + eps). */
inline double expected_rstd(const Values& x, std::size_t row, std::size_t hidden) {
  double sum = 0;
  for (std::size_t i = 0; i < hidden; ++i) sum += std::pow(from_bf16(x[row * hidden + i]), 2);
  return 1 / std::sqrt(sum / static_cast<double>(hidden) + kEps);
}

/* The largest relative error of y; infinity for a NaN. */
inline double max_error(const Values& x, const Values& weight, const Values& y) {
  const std::size_t hidden = weight.size();
  double largest = 0;
  for (std::size_t row = 0; row < x.size() / hidden; ++row) {
    const double rstd = expected_rstd(x, row, hidden);
    for (std::size_t i = 0; i < hidden; ++i) {
      const double expected = from_bf16(x[row * hidden + i]) * rstd * from_bf16(weight[i]);
      largest = std::max(largest, relative_error(from_bf16(y[row * hidden + i]), expected));
    }
  }
  return largest;
}

#endif  // MGTUNE_EXAMPLES_RMSNORM_BF16_H_
