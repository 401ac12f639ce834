// 2^x without the special function unit. That unit does 16 exponentials per SM and clock. A kernel
// that needs more of them computes some by these nine instructions instead, seven of which run on
// the pipe of fp32 multiplications (128 per SM and clock) and two on that of integers (64).
//
//   mg::exp2_polynomial(x)      x is at most 127, -Inf, or NaN
//
// x is split into the nearest integer n and a rest in [-0.5, 0.5]. 2^rest is a polynomial of degree
// 3, and 2^n is a float whose exponent is n. To find n, x is added to a number so large that the
// sum has no room for a fraction (Cody and Waite's method, as in FlashAttention-4).
// The coefficients minimize the largest relative error. Remez' algorithm found them.
//
// Numerics: the relative error is at most 7.6e-5 (2^-13.6). Rounding the result to half adds up to
// 6 times as much, and rounding it to bfloat16 51 times as much. The result is 0 for x <= -126.5
// and for -Inf, and NaN for NaN. A GPU contracts products and sums, so the last bits of its results
// differ from those of the cpu device.

#pragma once

#include <mg/math.cuh>
#include <mg/types.cuh>

namespace mg {

__device__ __forceinline__ float exp2_polynomial(float x) {
  // The last bits of kShift + x are n + 127, the exponent of the float 2^n.
  constexpr float kShift = 12582912.0f + 127.0f;  // 1.5 * 2^23, whose last bit is worth 1
  const float limited = max_or_nan(x, -127.0f);   // 2^-127 has the exponent 0 and becomes 0
  const float shifted = limited + kShift;
  const float rest = limited - (shifted - kShift);
  const float power =
      ((0.055171669f * rest + 0.24261113f) * rest + 0.69326097f) * rest + 0.99992806f;
  return power * __uint_as_float(__float_as_uint(shifted) << 23);
}

}  // namespace mg
