// Arithmetic that the three compilers spell differently or that only a GPU has.
//
// Numerics: a GPU's own approximations, so results differ between devices in the last bits (the cpu
// device rounds each step exactly). The check's tolerances cover this.

#pragma once

namespace mg {

// NVRTC has no name for it.
__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }

// 1 / sqrt(x): at most 2 ulp off on a GPU. +Inf for 0, NaN below.
__device__ __forceinline__ float rsqrt(float x) { return rsqrtf(x); }

// 2^x in one instruction of a GPU, at most 2^-22 of the result off. 0 where the result is below
// 2^-126, +Inf from x = 128, NaN for NaN.
__device__ __forceinline__ float exp2_approx(float x) {
#if defined(MGTUNE_CPU_DEVICE)
  return x < -126.0f ? 0.0f : exp2f(x);
#else
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#endif
}

// 1 / x in one instruction of a GPU, at most 1 ulp off. For |x| in [2^-126, 2^126]; 0 for an
// infinity, NaN for NaN.
__device__ __forceinline__ float reciprocal_approx(float x) {
#if defined(MGTUNE_CPU_DEVICE)
  return 1.0f / x;
#else
  float quotient;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(x));
  return quotient;
#endif
}

}  // namespace mg
