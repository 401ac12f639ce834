// Programmatic dependent launch: a grid that starts while the one before it on its stream still
// runs. Compute capability 9.0 and up; on the cpu device grids follow one another.
//
//   mg::let_next_grid_start();         its blocks may take the room that is left
//   mg::wait_for_previous_grid();      from here on, what earlier grids wrote is visible
//
// A kernel that uses this marks no pointer to const `__restrict__`: the compiler would read through
// the read-only path, whose lines an earlier grid may have left stale in the L1 of an SM. Nothing
// that another kernel may have written is read, and nothing that another may still read is written,
// before the wait; a prefetch into L2, where all writes meet, is no read. In a launch without `pdl`
// both do nothing.

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
