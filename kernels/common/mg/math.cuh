// Arithmetic that the three compilers spell differently, or that only a GPU has.
//
// Numerics: these are the GPU's own approximations, so results differ between devices in the last
// bits. The cpu device rounds each step exactly. The tolerances of the check cover the difference.

#pragma once

namespace mg {

// NVRTC has no name for infinity.
__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }

// Returns 1 / sqrt(x), at most 2 ulp off on a GPU. The result is +Inf for 0 and NaN below 0.
__device__ __forceinline__ float rsqrt(float x) { return rsqrtf(x); }

// Returns 2^x by one instruction of a GPU. The error is at most 2^-22 of the result. The result is
// 0 if it would be below 2^-126, +Inf from x = 128 on, and NaN for NaN.
__device__ __forceinline__ float exp2_approx(float x) {
#if defined(MGTUNE_CPU_DEVICE)
  return x < -126.0f ? 0.0f : exp2f(x);
#else
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#endif
}

// Returns 1 / x by one instruction of a GPU, at most 1 ulp off, for |x| in [2^-126, 2^126]. The
// result is 0 for an infinity and NaN for NaN.
__device__ __forceinline__ float reciprocal_approx(float x) {
#if defined(MGTUNE_CPU_DEVICE)
  return 1.0f / x;
#else
  float quotient;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(x));
  return quotient;
#endif
}

// Returns the larger one of two numbers by one instruction of a GPU, and NaN if one of them is NaN
// (fmaxf() returns the other one then).
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if defined(MGTUNE_CPU_DEVICE)
  return a > b || a != a ? a : b;
#else
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
#endif
}

}  // namespace mg
