// The logistic function, for any argument.
//
//   mg::Sigmoid s = mg::sigmoid<T>(x);     s.value = 1 / (1 + e^-x),  s.rest = 1 - s.value
//
// Both come from e^-|x|, which never overflows, and neither from a difference, so each keeps its
// relative accuracy however small it is. NaN for NaN; 0 and 1 for the infinities.
//
// Numerics: T is the dtype that the result will be rounded to. For float, e^-|x| is expf: value and
// rest are at most 2^-21 of themselves off. For the 16-bit dtypes it is one ex2: 2^-21 + |x| 2^-24,
// below a 2000th of their rounding; rest (value where x < 0) is 0 from |x| = 87.4 on, where it is
// below 2^-126.

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
