// The error of a whole tensor: |actual - expected| / |expected|. It is NaN if an element is NaN.

#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace mgtune {

inline double relative_l2(const std::vector<double>& actual, const std::vector<double>& expected) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    error += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / norm);
}

}  // namespace mgtune
