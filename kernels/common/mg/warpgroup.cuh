// Warpgroups that do different work: one brings data, the others compute. Needs sm_90a. On the cpu
// device threads have as many registers as they want.
//
//   __global__ void __launch_bounds__(384, 1) kernel(...)     the 1 is needed, see below
//   if (mg::warpgroup() == 0) {
//     mg::shrink_registers<24>();     every warp of the warpgroup calls it
//     ...
//   } else {
//     mg::grow_registers<240>();      waits until the registers are free
//     ...
//   }
//
// At launch each thread has 65,536 / threads registers, rounded down to a multiple of 8. The counts
// are multiples of 8 from 24 to 256, and together they must fit. ptxas ignores both calls unless it
// knows the registers at launch, which requires the second argument of __launch_bounds__.
//
// Source: PTX ISA, "setmaxnreg".

#pragma once

#include <mg/types.cuh>

namespace mg {

// Returns `value`, which is the same in all threads of a warp. The compiler then knows this, too:
// what depends on the result is computed once per warp, in registers of the warp.
__device__ __forceinline__ int warp_uniform(int value) {
#if defined(MGTUNE_CPU_DEVICE)
  return value;
#else
  return __shfl_sync(0xffffffffu, value, 0);
#endif
}

__device__ __forceinline__ int warpgroup() {
  return warp_uniform(static_cast<int>(threadIdx.x / 128u));
}

template <int kRegisters>
__device__ __forceinline__ void shrink_registers() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 256, "what PTX offers");
#if !defined(MGTUNE_CPU_DEVICE)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

template <int kRegisters>
__device__ __forceinline__ void grow_registers() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 256, "what PTX offers");
#if !defined(MGTUNE_CPU_DEVICE)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

}  // namespace mg
