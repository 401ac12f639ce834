// Inputs of rmsnorm.backward by hand, and what the formula makes of them in fp64. Header-only;
// pure.

#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/helpers/kernels/relative_l2.h"

namespace mgtune {

// What a test gives by hand: rows one after the other, everything that fp32 holds.
struct GradientInputs {
  std::int64_t rows, hidden;
  std::vector<double> dy, x, weight, rstd;
};

inline constexpr float kGradientOffset = 0.5f;

inline GradientInputs normal_inputs(std::int64_t rows, std::int64_t hidden) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto values = [&](std::int64_t count) {
    std::vector<double> result(static_cast<std::size_t>(count));
    for (double& value : result) value = normal(random);
    return result;
  };
  GradientInputs inputs{rows,           hidden, values(rows * hidden), values(rows * hidden),
                        values(hidden), {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    inputs.rstd.push_back(0.5f + 0.25f * static_cast<float>(row));
  }
  return inputs;
}

struct Gradients {
  std::vector<double> dx, dw;
};

// The formula in fp64.
inline Gradients expected_gradients(const GradientInputs& in) {
  Gradients out{std::vector<double>(in.x.size()), std::vector<double>(in.weight.size())};
  const auto hidden = static_cast<std::size_t>(in.hidden);
  for (std::size_t row = 0; row < in.rstd.size(); ++row) {
    double dot = 0;
    for (std::size_t c = 0; c < hidden; ++c) {
      const double xhat = in.x[row * hidden + c] * in.rstd[row];
      dot += in.dy[row * hidden + c] * (kGradientOffset + in.weight[c]) * xhat;
      out.dw[c] += in.dy[row * hidden + c] * xhat;
    }
    for (std::size_t c = 0; c < hidden; ++c) {
      const double xhat = in.x[row * hidden + c] * in.rstd[row];
      out.dx[row * hidden + c] =
          in.rstd[row] * (in.dy[row * hidden + c] * (kGradientOffset + in.weight[c]) -
                          xhat * dot / static_cast<double>(hidden));
    }
  }
  return out;
}

}  // namespace mgtune
