// The logistic function, for any argument.
//
//   mg::Sigmoid s = mg::sigmoid<T>(x);     s.value = 1 / (1 + e^-x),  s.rest = 1 - s.value
//
// Both results come from e^-|x|, which never overflows. Neither comes from a difference, so each
// keeps its relative accuracy however small it is. NaN gives NaN; the infinities give 0 and 1.
//
// Numerics: T is the dtype that the result will be rounded to. For float, e^-|x| is computed by
// expf, and value and rest have a relative error of at most 2^-21. For the 16-bit dtypes it is one
// ex2, with a relative error of 2^-21 + |x| 2^-24, which is below a 2000th of their rounding. Then
// rest (value if x < 0) is 0 from |x| = 87.4 on, where the exact result is below 2^-126.

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

}  // namespace mg
