// Collectives of a warp, in their _sync forms. The mask names the lanes that arrive at this line.
// If a named lane is elsewhere in the kernel, or a lane is outside its own mask, that is reported.
// A shuffle from a lane outside the mask yields 0xff bytes (a NaN).

#pragma once

#include <type_traits>

#include "mgcpu/runtime_abi.h"

namespace mgcpu {

template <class T>
inline T shuffle(WarpOperation operation, const char* name, unsigned int mask, T value,
                 unsigned int operand, int width, const char* file, int line) {
  static_assert(std::is_trivially_copyable_v<T>, "a shuffle moves bytes");
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  WarpCall call{operation, name, mask, file, line};
  call.value = &value;
  call.bytes = sizeof(T);
  call.operand = operand;
  call.width = static_cast<std::uint32_t>(width);
  mgcpu_warp_call(&call);
  return value;
}

inline std::uint32_t combine(WarpOperation operation, const char* name, unsigned int mask,
                             std::uint32_t operand, const char* file, int line) {
  WarpCall call{operation, name, mask, file, line};
  call.operand = operand;
  mgcpu_warp_call(&call);
  return call.result;
}

}  // namespace mgcpu

#define MGCPU_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

#define MGCPU_SHUFFLE(name, operation, Operand)                                             \
  template <class T>                                                                        \
  inline T name(unsigned int mask, T value, Operand operand, int width = 32, MGCPU_PLACE) { \
    return mgcpu::shuffle(mgcpu::WarpOperation::operation, #name, mask, value,              \
                          static_cast<unsigned int>(operand), width, file, line);           \
  }
MGCPU_SHUFFLE(__shfl_sync, shuffle_index, int)
MGCPU_SHUFFLE(__shfl_up_sync, shuffle_up, unsigned int)
MGCPU_SHUFFLE(__shfl_down_sync, shuffle_down, unsigned int)
MGCPU_SHUFFLE(__shfl_xor_sync, shuffle_xor, int)
#undef MGCPU_SHUFFLE

inline void __syncwarp(unsigned int mask = 0xffffffffu, MGCPU_PLACE) {
  mgcpu::combine(mgcpu::WarpOperation::synchronize, "__syncwarp", mask, 0, file, line);
}

inline unsigned int __ballot_sync(unsigned int mask, int predicate, MGCPU_PLACE) {
  return mgcpu::combine(mgcpu::WarpOperation::ballot, "__ballot_sync", mask, predicate != 0, file,
                        line);
}

inline int __any_sync(unsigned int mask, int predicate, MGCPU_PLACE) {
  return mgcpu::combine(mgcpu::WarpOperation::ballot, "__any_sync", mask, predicate != 0, file,
                        line) != 0;
}

inline int __all_sync(unsigned int mask, int predicate, MGCPU_PLACE) {
  return mgcpu::combine(mgcpu::WarpOperation::ballot, "__all_sync", mask, predicate == 0, file,
                        line) == 0;
}

#define MGCPU_REDUCE(name, operation, T)                                                  \
  inline T name(unsigned int mask, T value, MGCPU_PLACE) {                                \
    return static_cast<T>(mgcpu::combine(mgcpu::WarpOperation::operation, #name, mask,    \
                                         static_cast<std::uint32_t>(value), file, line)); \
  }
MGCPU_REDUCE(__reduce_add_sync, add, unsigned int)
MGCPU_REDUCE(__reduce_add_sync, add, int)
MGCPU_REDUCE(__reduce_min_sync, min_unsigned, unsigned int)
MGCPU_REDUCE(__reduce_min_sync, min_signed, int)
MGCPU_REDUCE(__reduce_max_sync, max_unsigned, unsigned int)
MGCPU_REDUCE(__reduce_max_sync, max_signed, int)
MGCPU_REDUCE(__reduce_and_sync, bit_and, unsigned int)
MGCPU_REDUCE(__reduce_or_sync, bit_or, unsigned int)
MGCPU_REDUCE(__reduce_xor_sync, bit_xor, unsigned int)
#undef MGCPU_REDUCE
#undef MGCPU_PLACE

// A program must not depend on which lanes happen to be converged. Masks are explicit.
unsigned int __activemask() = delete;
