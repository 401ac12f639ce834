// Gates at which a sigmoid may go wrong: zeros, where exp over- or underflows in fp32 and in the
// 16-bit dtypes, where silu's slope crosses 0, the largest numbers, infinities and NaN.

#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace mgtune {

inline std::vector<double> special_gates() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> gates;
  for (const double size : {0.0,  1e-30, 1e-7,  6e-5,  0.5,   1.0,  1.278464, 2.4,  10.0,
                            16.6, 17.4,  40.0,  79.0,  86.0,  87.0, 87.5,     88.0, 88.5,
                            89.0, 103.0, 104.0, 128.0, 300.0, 6e4,  1e30,     3e38, kInfinity}) {
    gates.push_back(size);
    gates.push_back(-size);
  }
  gates.push_back(std::nan(""));
  return gates;
}

}  // namespace mgtune
