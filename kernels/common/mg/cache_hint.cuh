// Loads and stores that say how long the caches should keep what they touch. Values never depend on
// it; on the cpu device all are plain.
//
//   mg::Vec<T, 8> x = mg::load_hinted<8, mg::Cache::streaming>(row + column);
//   mg::store_hinted<8, mg::Cache::streaming>(out + column, y);
//   mg::prefetch_to_l2(row + column);             brings its sector into L2; what is loaded later
//                                                 is current
//   weight = mg::read_each_time(weight);          in a loop: loads through it stay there, instead
//                                                 of holding registers all the while
//
//   normal        as the hardware likes; what is read again, soon
//   streaming     leaves L1 and L2 first (ld.cs, st.cs): what is touched once
//   no_allocate   loads pass L1 by (not the read-only path, which wants memory that nobody writes
//                 while the grid is there: not so in a dependent launch); stores are streaming ones
//   kept          loads of 8 or 16 bytes: leaves L1 and L2 last (sm_80; an ordinary load before).
//                 Not for the sake of what is read, which is read once: device memory is faster
//                 when what is written leaves L2 before what was read (2 to 4 % on an H200). What
//                 others keep in L2 has less room afterwards
//
// A kernel's parameter takes these values after `using LOAD = mg::Cache;`.

#pragma once

#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

enum class Cache { normal, streaming, no_allocate, kept };

#if defined(MGTUNE_CPU_DEVICE)

template <class Bits>
inline Bits load_no_allocate(const Bits* from) {
  return *from;
}

template <class Bits>
inline Bits load_kept(const Bits* from) {
  return *from;
}

inline void prefetch_to_l2(const void*) {}

template <class T>
inline const T* read_each_time(const T* place) {
  return place;
}

#else

template <class T>
__device__ __forceinline__ const T* read_each_time(const T* place) {
  asm volatile("" : "+l"(place));
  return place;
}

__device__ __forceinline__ void prefetch_to_l2(const void* place) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(place)));
}

__device__ __forceinline__ unsigned short load_no_allocate(const unsigned short* from) {
  unsigned short bits;
  asm volatile("ld.global.L1::no_allocate.u16 %0, [%1];" : "=h"(bits) : "l"(from));
  return bits;
}

__device__ __forceinline__ unsigned int load_no_allocate(const unsigned int* from) {
  unsigned int bits;
  asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(bits) : "l"(from));
  return bits;
}

__device__ __forceinline__ uint2 load_no_allocate(const uint2* from) {
  uint2 bits;
  asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
               : "=r"(bits.x), "=r"(bits.y)
               : "l"(from));
  return bits;
}

__device__ __forceinline__ uint4 load_no_allocate(const uint4* from) {
  uint4 bits;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  return bits;
}

// sm_80 and up.
__device__ __forceinline__ unsigned long long policy_to_keep() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ uint2 load_kept(const uint2* from) {
  uint2 bits;
  asm volatile("ld.global.L1::evict_last.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
               : "=r"(bits.x), "=r"(bits.y)
               : "l"(from), "l"(policy_to_keep()));
  return bits;
}

__device__ __forceinline__ uint4 load_kept(const uint4* from) {
  uint4 bits;
  asm volatile("ld.global.L1::evict_last.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from), "l"(policy_to_keep()));
  return bits;
}
#else
template <class Bits>
__device__ __forceinline__ Bits load_kept(const Bits* from) {
  return *from;
}
#endif

#endif

template <int N, Cache kCache, class T>
__device__ __forceinline__ Vec<T, N> load_hinted(const T* from) {
  if constexpr (kCache == Cache::normal) {
    return load<N>(from);
  } else {
    const Access<T, N>* const place = reinterpret_cast<const Access<T, N>*>(from);
    Access<T, N> bits;
    if constexpr (kCache == Cache::streaming) {
      bits = __ldcs(place);
    } else if constexpr (kCache == Cache::kept) {
      bits = load_kept(place);
    } else {
      bits = load_no_allocate(place);
    }
    Vec<T, N> value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
}

template <int N, Cache kCache, class T>
__device__ __forceinline__ void store_hinted(T* to, const Vec<T, N>& value) {
  static_assert(kCache != Cache::kept, "a hint of loads");
  if constexpr (kCache == Cache::normal) {
    // As an ordinary store, but one instruction: NVRTC 13.0 splits those of 16 bytes into four here
    // and there, as in rmsnorm.forward of 128 columns.
    Access<T, N> bits;
    memcpy(&bits, &value, sizeof(bits));
    __stwb(reinterpret_cast<Access<T, N>*>(to), bits);
  } else {
    store_streaming<N>(to, value);
  }
}

}  // namespace mg
