// The functions that the compiler calls with -fsanitize=thread, for kernels of arch "cpu-race".
// race_checker.h says why mgtune defines them; access_checker.h has the other user. They are left
// out if mgtune itself is built with ThreadSanitizer, because libtsan then defines these names.

#include <cstdint>

#include "block.h"

namespace {

using Kind = mgtune::RaceChecker::Kind;

inline void check(const void* address, std::size_t bytes, Kind kind, const void* return_address) {
  mgtune::Block* const block = mgtune::current_block();
  if (block != nullptr && block->in_thread()) {
    block->check_access(address, bytes, kind, return_address);
  }
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,bugprone-macro-parentheses): the names are the
// compiler's, and types cannot stand in parentheses.

#define MGTUNE_HERE __builtin_return_address(0)

#define MGTUNE_ACCESSES(bytes)                                  \
  MGCPU_API void __tsan_read##bytes(void* address) {            \
    check(address, bytes, Kind::read, MGTUNE_HERE);             \
  }                                                             \
  MGCPU_API void __tsan_write##bytes(void* address) {           \
    check(address, bytes, Kind::write, MGTUNE_HERE);            \
  }                                                             \
  MGCPU_API void __tsan_unaligned_read##bytes(void* address) {  \
    check(address, bytes, Kind::read, MGTUNE_HERE);             \
  }                                                             \
  MGCPU_API void __tsan_unaligned_write##bytes(void* address) { \
    check(address, bytes, Kind::write, MGTUNE_HERE);            \
  }

#define MGTUNE_CHANGE(bits, T, name, builtin)                                   \
  MGCPU_API T __tsan_atomic##bits##_##name(volatile T* address, T value, int) { \
    check(const_cast<T*>(address), sizeof(T), Kind::atomic_write, MGTUNE_HERE); \
    return builtin(address, value, __ATOMIC_SEQ_CST);                           \
  }

#define MGTUNE_COMPARE(bits, T, strength)                                                 \
  MGCPU_API int __tsan_atomic##bits##_compare_exchange_##strength(                        \
      volatile T* address, T* expected, T value, int, int) {                              \
    check(const_cast<T*>(address), sizeof(T), Kind::atomic_write, MGTUNE_HERE);           \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, \
                                       __ATOMIC_SEQ_CST);                                 \
  }

#define MGTUNE_ATOMICS(bits, T)                                                      \
  MGCPU_API T __tsan_atomic##bits##_load(const volatile T* address, int) {           \
    check(const_cast<const T*>(address), sizeof(T), Kind::atomic_read, MGTUNE_HERE); \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                               \
  }                                                                                  \
  MGCPU_API void __tsan_atomic##bits##_store(volatile T* address, T value, int) {    \
    check(const_cast<T*>(address), sizeof(T), Kind::atomic_write, MGTUNE_HERE);      \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                              \
  }                                                                                  \
  MGTUNE_CHANGE(bits, T, exchange, __atomic_exchange_n)                              \
  MGTUNE_CHANGE(bits, T, fetch_add, __atomic_fetch_add)                              \
  MGTUNE_CHANGE(bits, T, fetch_sub, __atomic_fetch_sub)                              \
  MGTUNE_CHANGE(bits, T, fetch_and, __atomic_fetch_and)                              \
  MGTUNE_CHANGE(bits, T, fetch_or, __atomic_fetch_or)                                \
  MGTUNE_CHANGE(bits, T, fetch_xor, __atomic_fetch_xor)                              \
  MGTUNE_COMPARE(bits, T, strong)                                                    \
  MGTUNE_COMPARE(bits, T, weak)

extern "C" {

MGTUNE_ACCESSES(1)
MGTUNE_ACCESSES(2)
MGTUNE_ACCESSES(4)
MGTUNE_ACCESSES(8)
MGTUNE_ACCESSES(16)

MGCPU_API void __tsan_read_range(void* address, std::size_t bytes) {
  check(address, bytes, Kind::read, MGTUNE_HERE);
}
MGCPU_API void __tsan_write_range(void* address, std::size_t bytes) {
  check(address, bytes, Kind::write, MGTUNE_HERE);
}
MGCPU_API void __tsan_vptr_update(void** address, void*) {
  check(address, sizeof(void*), Kind::write, MGTUNE_HERE);
}
MGCPU_API void __tsan_vptr_read(void** address) {
  check(address, sizeof(void*), Kind::read, MGTUNE_HERE);
}

MGTUNE_ATOMICS(32, std::uint32_t)
MGTUNE_ATOMICS(64, std::uint64_t)

MGCPU_API void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
MGCPU_API void __tsan_atomic_signal_fence(int) {}
MGCPU_API void __tsan_init() {}
MGCPU_API void __tsan_func_entry(void*) {}
MGCPU_API void __tsan_func_exit() {}

}  // extern "C"

// NOLINTEND(bugprone-reserved-identifier,bugprone-macro-parentheses)
