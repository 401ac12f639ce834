// Shared memory (used by <mg/shared.cuh>), and loads and stores with a cache hint.

#pragma once

#include <type_traits>

#include "mgcpu/runtime_abi.h"

namespace mgcpu {

// One static shared array of a kernel. Its place in the block's arena is assigned when the library
// is loaded. `Name` is a local type of the kernel, so each instantiation has its own array.
template <class T, class Name>
struct StaticShared {
  static_assert(std::is_trivially_destructible_v<T>, "shared memory is raw storage");
  static const std::size_t offset;
  static std::size_t registered() {
    return mgcpu_register_shared(sizeof(T), alignof(T), sizeof(std::remove_all_extents_t<T>),
                                 __PRETTY_FUNCTION__);
  }
};

template <class T, class Name>
const std::size_t StaticShared<T, Name>::offset = registered();

template <class T, class Name>
inline T& static_shared() {
  return *reinterpret_cast<T*>(mgcpu_static_shared + StaticShared<T, Name>::offset);
}

inline void* dynamic_shared() { return mgcpu_dynamic_shared; }

}  // namespace mgcpu

#define MGCPU_LOAD(name)            \
  template <class T>                \
  inline T name(const T* address) { \
    return *address;                \
  }
MGCPU_LOAD(__ldg)
MGCPU_LOAD(__ldca)
MGCPU_LOAD(__ldcg)
MGCPU_LOAD(__ldcs)
MGCPU_LOAD(__ldcv)
MGCPU_LOAD(__ldlu)
#undef MGCPU_LOAD

#define MGCPU_STORE(name)                                       \
  template <class T>                                            \
  inline void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                           \
  }
MGCPU_STORE(__stcg)
MGCPU_STORE(__stcs)
MGCPU_STORE(__stwb)
MGCPU_STORE(__stwt)
#undef MGCPU_STORE
