// __half and __nv_bfloat16: the types of CUDA's own headers, or the part of them that kernels need.
//
// NVRTC needs 9 to 11 ms to read cuda_fp16.h and cuda_bf16.h, an eighth of what a light kernel
// takes in all. Kernels of this repository only convert between these types and float, and for that
// the few lines below give the same machine code. A source that needs more includes CUDA's headers
// itself. If it does so before <mg/...>, they define the types. If it does so afterwards, or uses
// more without including them, then this program does not compile, and the compiler tries again
// with MG_CUDA_HEADERS defined (runtime/compiler/nvrtc_compiler.cpp). GPUs before 8.0 have no
// instruction that rounds to bfloat16, so CUDA's headers define the types there, too.
//
// Code that would compile to something else than with CUDA's headers must not compile. So
// conversions to float are explicit here: otherwise, half + half would be a sum of floats.
// Conversions from double and from integers are deleted, because through float they would round
// twice. This cannot stop sources that ask, by `requires` or #ifdef, whether operators or CUDA's
// macros exist.

#pragma once

#if !defined(__CUDACC_RTC__) || defined(MG_CUDA_HEADERS) || defined(__CUDA_FP16_H__) || \
    __CUDA_ARCH__ < 800

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#else

struct __align__(2) __half {
  __half() = default;

  // Rounds to nearest even.
  __device__ __forceinline__ __half(float value) {
    asm("{  cvt.rn.f16.f32 %0, %1;}" : "=h"(bits_) : "f"(value));
  }
  template <class Other>
  __half(Other) = delete;

  __device__ __forceinline__ explicit operator float() const {
    float value;
    asm("{  cvt.f32.f16 %0, %1;}" : "=f"(value) : "h"(bits_));
    return value;
  }

 private:
  unsigned short bits_;
};

struct __align__(2) __nv_bfloat16 {
  __nv_bfloat16() = default;

  // Rounds to nearest even.
  __device__ __forceinline__ __nv_bfloat16(float value) {
    asm("{  cvt.rn.bf16.f32 %0, %1;}" : "=h"(bits_) : "f"(value));
  }
  template <class Other>
  __nv_bfloat16(Other) = delete;

  __device__ __forceinline__ explicit operator float() const {
    float value;
#if __CUDA_ARCH__ >= 900
    asm("{ cvt.f32.bf16 %0, %1;}" : "=f"(value) : "h"(bits_));
#else
    asm("{ mov.b32 %0, {0,%1};}" : "=f"(value) : "h"(bits_));
#endif
    return value;
  }

 private:
  unsigned short bits_;
};

#endif
