// Barriers of the block. All threads that have not returned must arrive at the same source line.

#pragma once

#include "mgcpu/runtime_abi.h"

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  mgcpu_sync_block(false, "__syncthreads", file, line);
}

inline int __syncthreads_count(int predicate, const char* file = __builtin_FILE(),
                               int line = __builtin_LINE()) {
  return static_cast<int>(mgcpu_sync_block(predicate != 0, "__syncthreads_count", file, line));
}

inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  return mgcpu_sync_block(predicate != 0, "__syncthreads_or", file, line) != 0;
}

inline int __syncthreads_and(int predicate, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
  return mgcpu_sync_block(predicate == 0, "__syncthreads_and", file, line) == 0;
}

namespace mgcpu {

// Does the same as the PTX instruction "barrier.sync barrier, threads"; 1 <= barrier <= 15.
inline void named_barrier(unsigned int barrier, unsigned int threads,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  mgcpu_sync_named(barrier, threads, file, line);
}

}  // namespace mgcpu
