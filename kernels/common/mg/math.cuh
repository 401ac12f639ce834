// Arithmetic that the three compilers spell differently or that only a GPU has.
//
// Numerics: a GPU's own approximations, so results differ between devices in the last bits (the cpu
// device rounds each step exactly). The check's tolerances cover this.

#pragma once

namespace mg {

// 1 / sqrt(x): at most 2 ulp off on a GPU. +Inf for 0, NaN below.
__device__ __forceinline__ float rsqrt(float x) { return rsqrtf(x); }

}  // namespace mg
