// The position of a thread: the built-in variables, the clock, and the ways to stop or to wait.
// threadIdx and the others are real objects of CUDA's types (`auto i = threadIdx` works). Switching
// to another thread of the block writes twelve bytes.

#pragma once

#include "mgcpu/runtime_abi.h"

extern "C" {
extern MGCPU_API const MGCPU_THREAD_LOCAL uint3 threadIdx;
extern MGCPU_API const MGCPU_THREAD_LOCAL uint3 blockIdx;
extern MGCPU_API const MGCPU_THREAD_LOCAL dim3 blockDim;
extern MGCPU_API const MGCPU_THREAD_LOCAL dim3 gridDim;
}

inline constexpr int warpSize = 32;

[[noreturn]] inline void __trap(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  mgcpu_trap(file, line);
}

// Every waiting loop needs this call, because the threads of a block take turns on one OS thread.
inline void __nanosleep(unsigned int, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  mgcpu_spin_pause(file, line);
}

inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  static long long ticks;
  return __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
#endif
}

#if !defined(__clang__)
#define __builtin_assume(condition)            \
  do {                                         \
    if (!(condition)) __builtin_unreachable(); \
  } while (false)
#endif
