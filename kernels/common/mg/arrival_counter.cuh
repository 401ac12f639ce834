// Counts in global memory how many blocks, or groups of threads, have written their results for the
// others.
//
//   ...every thread writes its results; a barrier of the group...
//   if (is_first_thread) before = mg::count_arrival(counter);   the arrivals before this one
//   if (is_first_thread) count = mg::arrivals(counter);         the arrivals so far
//   ...a barrier of the group...
//   ...read with __ldcg the results of the groups that had arrived...
//
// A group that sees another group's arrival also sees, after its own barrier, what that group wrote
// before its barrier. The fences are those of acquire and release, which cost less than
// __threadfence().

#pragma once

#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

inline u32 count_arrival(u32* counter) { return atomicAdd(counter, 1u); }
inline u32 arrivals(u32* counter) { return atomicAdd(counter, 0u); }

#else

__device__ __forceinline__ u32 count_arrival(u32* counter) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter))
               : "memory");
  return before;
}

__device__ __forceinline__ u32 arrivals(u32* counter) {
  u32 count;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(count)
               : "l"(__cvta_generic_to_global(counter))
               : "memory");
  return count;
}

#endif

}  // namespace mg
