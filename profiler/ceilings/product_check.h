// The expected results of the tensor-core kernels: products of small matrices, computed in double.
// Pure.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"
#include "core/status.h"

namespace mgtune {

// The 16-bit number `half` (0: the lower) of a word.
inline double number_in(std::uint32_t word, std::uint32_t half, DType dtype) {
  const auto bits = static_cast<std::uint16_t>(word >> (16 * half));
  return dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

// One element of a * b, as the sum over its pairs (a, b).
struct ProductSum {
  double sum = 0;
  double size = 0;  // the sum of the absolute values

  void add(double a, double b) {
    sum += a * b;
    size += a * b < 0 ? -a * b : a * b;
  }

  // Whether `got` is `steps` times the sum. The fp32 accumulators of a tensor core drift by up to
  // 2^-23 of their value per addition. That is 0.5 % for the 40,000 additions of a millisecond; a
  // missing product changes more.
  Status check(float got, std::int64_t steps, const std::string& what) const {
    const double expected = sum * static_cast<double>(steps);
    const double error = got < expected ? expected - got : got - expected;
    if (error <= 0.01 * size * static_cast<double>(steps)) return {};
    return internal_error(what + " is " + std::to_string(got) + ", not " +
                          std::to_string(expected));
  }
};

}  // namespace mgtune
