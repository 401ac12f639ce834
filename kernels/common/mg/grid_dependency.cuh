// Programmatic dependent launch: a grid starts while the previous grid on its stream still runs.
// Needs compute capability 9.0. On the cpu device one grid runs after the other.
//
//   mg::let_next_grid_start();         the next grid may start blocks where there is room
//   mg::wait_for_previous_grid();      from here on this grid sees what earlier grids wrote
//
// A kernel that uses this must not mark a pointer to const as `__restrict__`. The compiler would
// read such memory through the read-only path, and an SM's L1 may hold stale lines of it.
// Before the wait, a kernel must not read what another kernel may have written, and must not write
// what another kernel may still read. A prefetch into L2 is allowed, because all writes meet in L2.
// In a launch without `pdl` both functions do nothing.

#pragma once

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

inline void let_next_grid_start() {}
inline void wait_for_previous_grid() {}

#else

__device__ __forceinline__ void let_next_grid_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__device__ __forceinline__ void wait_for_previous_grid() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

#endif

}  // namespace mg
