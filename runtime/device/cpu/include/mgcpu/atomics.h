// Atomics and fences. Blocks run on several OS threads, so these are real atomics; floating-point
// ones loop on compare-and-swap.

#pragma once

#include <type_traits>

namespace mgcpu {

template <class T>
using Same = std::type_identity_t<T>;  // an argument that is converted, not deduced

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;

template <class T, class Change>
inline T atomic_change(T* address, Change change) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics are 4 or 8 bytes wide");
  auto* cell = reinterpret_cast<BitsOf<T>*>(address);
  BitsOf<T> old_bits = __atomic_load_n(cell, __ATOMIC_RELAXED);
  for (;;) {
    T old_value;
    memcpy(&old_value, &old_bits, sizeof(T));
    const T new_value = change(old_value);
    BitsOf<T> new_bits;
    memcpy(&new_bits, &new_value, sizeof(T));
    if (__atomic_compare_exchange_n(cell, &old_bits, new_bits, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return old_value;
    }
  }
}

}  // namespace mgcpu

template <class T>
inline T atomicAdd(T* address, mgcpu::Same<T> value) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  } else {
    return mgcpu::atomic_change(address, [value](T old) { return old + value; });
  }
}

template <class T>
inline T atomicExch(T* address, mgcpu::Same<T> value) {
  return mgcpu::atomic_change(address, [value](T) { return value; });
}

template <class T>
inline T atomicMax(T* address, mgcpu::Same<T> value) {
  return mgcpu::atomic_change(address, [value](T old) { return old < value ? value : old; });
}

template <class T>
inline T atomicMin(T* address, mgcpu::Same<T> value) {
  return mgcpu::atomic_change(address, [value](T old) { return value < old ? value : old; });
}

#define MGCPU_ATOMIC(name, builtin)                   \
  template <class T>                                  \
  inline T name(T* address, mgcpu::Same<T> value) {   \
    return builtin(address, value, __ATOMIC_RELAXED); \
  }
MGCPU_ATOMIC(atomicSub, __atomic_fetch_sub)
MGCPU_ATOMIC(atomicAnd, __atomic_fetch_and)
MGCPU_ATOMIC(atomicOr, __atomic_fetch_or)
MGCPU_ATOMIC(atomicXor, __atomic_fetch_xor)
#undef MGCPU_ATOMIC

template <class T>
inline T atomicCAS(T* address, mgcpu::Same<T> compare, mgcpu::Same<T> value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}

inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
