// Loads and stores with a hint of how long the caches should keep the data. The hint never changes
// a value. On the cpu device all accesses are plain.
//
//   mg::Vec<T, 8> x = mg::load_hinted<8, mg::Cache::streaming>(row + column);
//   mg::store_hinted<8, mg::Cache::streaming>(out + column, y);
//   mg::prefetch_to_l2(row + column);             brings its sector into L2; a later load still
//                                                 sees the current value
//   weight = mg::read_each_time(weight);          in a loop: the compiler keeps loads through it
//                                                 inside the loop, where they hold no registers
//                                                 across iterations
//   block = mg::compute_each_time(block);         in a loop: the compiler computes again what
//                                                 depends on the integer, for the same reason
//
//   normal        The hardware decides. For data that is read again soon.
//   streaming     The data leaves L1 and L2 first (ld.cs, st.cs). For data that is touched once.
//   no_allocate   Loads bypass L1. We do not use ld.global.nc, because in a dependent launch the
//                 previous grid may still be writing this memory. Stores are streaming stores.
//   kept          Loads of 8 or 16 bytes: the data leaves L1 and L2 last. Needs sm_80; before that
//                 it is an ordinary load. The data is read only once, so the point is not to find
//                 it again: device memory is faster when written data leaves L2 before read data
//                 (2 to 4 % on an H200). Data of other kernels has less room in L2 afterwards.
//
// A kernel takes these values as a parameter after `using LOAD = mg::Cache;`.

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

inline int compute_each_time(int value) { return value; }

#else

template <class T>
__device__ __forceinline__ const T* read_each_time(const T* place) {
  asm volatile("" : "+l"(place));
  return place;
}

__device__ __forceinline__ int compute_each_time(int value) {
  asm volatile("" : "+r"(value));
  return value;
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

// Needs sm_80.
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
    // This acts like an ordinary store, but it is one instruction. NVRTC 13.0 sometimes splits an
    // ordinary store of 16 bytes into four, for example in rmsnorm.forward with 128 columns.
    Access<T, N> bits;
    memcpy(&bits, &value, sizeof(bits));
    __stwb(reinterpret_cast<Access<T, N>*>(to), bits);
  } else {
    store_streaming<N>(to, value);
  }
}

}  // namespace mg
