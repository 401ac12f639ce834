// The shared memory of a block. Kernels declare it through this header and in no other way, so that
// the cpu device knows every array. Under AddressSanitizer it poisons the gaps between arrays. It
// fills the arrays with NaN before each block. Its race checker sees who reads and writes them.
//
//   MG_SHARED(float, tile, [4][32]);           float tile[4][32] in shared memory, uninitialized
//   float* rows = mg::dynamic_shared<float>();  the launch's shared_bytes, aligned to 1024 bytes
//
// MG_SHARED stands in a function body. Its type is trivial, has no comma in its name, and decides
// the alignment (float4, an alignas struct). Without dimensions it declares one object. Every call
// of dynamic_shared() in a block returns the same address; a kernel divides it up with typed
// pointers.

#pragma once

#if defined(MGTUNE_CPU_DEVICE)

#define MG_SHARED(type, name, ...) \
  struct name##_in_shared {};      \
  auto& name = ::mgcpu::static_shared<type __VA_ARGS__, name##_in_shared>()

namespace mg {

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(::mgcpu::dynamic_shared());
}

}  // namespace mg

#else

#define MG_SHARED(type, name, ...) __shared__ type name __VA_ARGS__

namespace mg {

// The widest swizzle of a tensor map needs an alignment of 1024 bytes.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char mg_dynamic_shared[];
  return reinterpret_cast<T*>(mg_dynamic_shared);
}

}  // namespace mg

#endif
