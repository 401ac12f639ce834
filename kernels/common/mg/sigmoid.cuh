// The logistic function, for any argument.
//
//   mg::Sigmoid s = mg::sigmoid<T>(x);     s.value = 1 / (1 + e^-x),  s.rest = 1 - s.value
//   mg::sigmoid_of_two<T>(x, y, values);   the values of two arguments, by one reciprocal
//
// Both results come from e^-|x|, which never overflows. Neither comes from a difference, so each
// keeps its relative accuracy however small it is. NaN gives NaN; the infinities give 0 and 1.
//
// Numerics: T is the dtype that the result will be rounded to. For float, e^-|x| is computed by
// expf, and value and rest have a relative error of at most 2^-21. For the 16-bit dtypes it is one
// ex2, with a relative error of 2^-21 + |x| 2^-24, which is below a 2000th of their rounding. Then
// rest (value if x < 0) is 0 from |x| = 87.4 on, where the exact result is below 2^-126.
//
// Two arguments share a reciprocal as 1 / a = b * (1 / (a * b)), which is accurate to 2^-22. a and
// b are 1 + e^-|x|, between 1 and 2, so nothing overflows. If one of the arguments is NaN, its a is
// 2 and its result is between 0 and 1, so that it does not make the other result NaN. The caller
// multiplies by x, which is NaN.

#pragma once

#include <mg/math.cuh>

namespace mg {

struct Sigmoid {
  float value, rest;
};

template <class T>
__device__ __forceinline__ Sigmoid sigmoid(float x) {
  float small;
  if constexpr (sizeof(T) == 4) {
    small = expf(-fabsf(x));
  } else {
    small = exp2_approx(-1.44269504f * fabsf(x));
  }
  const float larger = reciprocal_approx(1.0f + small);
  const float smaller = small * larger;
  return x < 0.0f ? Sigmoid{smaller, larger} : Sigmoid{larger, smaller};
}

template <class T>
__device__ __forceinline__ void sigmoid_of_two(float x, float y, float (&values)[2]) {
  if constexpr (sizeof(T) == 4) {
    values[0] = sigmoid<T>(x).value;
    values[1] = sigmoid<T>(y).value;
  } else {
    // fminf returns the number if the other one is NaN.
    const float small_x = exp2_approx(fminf(-1.44269504f * fabsf(x), 0.0f));
    const float small_y = exp2_approx(fminf(-1.44269504f * fabsf(y), 0.0f));
    const float a = 1.0f + small_x, b = 1.0f + small_y;
    const float both = reciprocal_approx(a * b);
    const float of_x = b * both, of_y = a * both;
    values[0] = x < 0.0f ? small_x * of_x : of_x;
    values[1] = y < 0.0f ? small_y * of_y : of_y;
  }
}

}  // namespace mg
