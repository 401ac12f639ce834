// Matrix products of a warpgroup (128 threads, four whole warps) on the tensor cores, with operands
// in shared memory and fp32 accumulators: wgmma of sm_90a. There is no version for the cpu device.
//
//   mg::publish_to_wgmma(); __syncthreads();        makes earlier stores visible to wgmma
//   mg::wgmma_fence();                              before the first product
//   mg::wgmma_m64k16<T, 256>(d, a, b);              d (64 x 256) += a (64 x 16) * b (16 x 256)
//   mg::wgmma_commit();                             the products so far are one group
//   mg::wgmma_wait<0>(d);                           waits until at most 0 groups are unfinished
//
// All threads of the warpgroup call each function. The products run while the threads go on.
// Between the fence and the wait, nothing may touch d or write a and b.
//
// a and b are K-major tiles of 64 elements of k. So a row of a, or a column of b, has 128 bytes.
// One follows the other in the 128-byte swizzle: 16-byte piece p of row r lies at piece p ^ (r %
// 8). A tile begins at a multiple of 1024 bytes. Its products 0 to 3 take `tile + 32 * i` bytes.
// In lane l of warp w of the warpgroup, d[4 * j + 2 * r + c] is the accumulator of row
// 16 * w + l / 4 + 8 * r and column 8 * j + 2 * (l % 4) + c.
//
// Sources: PTX ISA, "Asynchronous warpgroup level matrix instructions" (matrix descriptor, register
// fragments).

#pragma once

#if defined(MGTUNE_CPU_DEVICE)
#error "wgmma has no body on the cpu device: a design that uses it says so in requires"
#endif

#include <mg/mma.cuh>
#include <mg/types.cuh>

namespace mg {

// Makes this thread's earlier stores to shared memory visible to products that are issued after a
// barrier of the storing and the multiplying threads.
__device__ __forceinline__ void publish_to_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// The compiler does not know that the products write d later than their place in the code. Naming d
// here keeps the reads of d after the wait.
template <int kGroups, int kCount>
__device__ __forceinline__ void wgmma_wait(float (&d)[kCount]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// The descriptor has the start address, the distance of 1024 bytes between groups of eight rows,
// and the 128-byte swizzle. The other offset has no meaning for a K-major tile with a swizzle.
__device__ __forceinline__ u64 wgmma_descriptor(const void* tile) {
  const u64 address = static_cast<u64>(__cvta_generic_to_shared(tile));
  return ((address & 0x3ffffull) >> 4) | (1ull << 16) | ((1024ull >> 4) << 32) | (1ull << 62);
}

// The names "%0, %1, ...", and the operands that they stand for.
#define MG_WGMMA_NAMES_64                                                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MG_WGMMA_NAMES_NEXT_64                                                                   \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define MG_WGMMA_8(i)                                                                   \
  "+f"(d[(i)]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + 4]), \
      "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define MG_WGMMA_32(i) \
  MG_WGMMA_8(i), MG_WGMMA_8((i) + 8), MG_WGMMA_8((i) + 16), MG_WGMMA_8((i) + 24)

// Neither operand is negated, both are K-major, and the product is added to d.
#define MG_WGMMA_N128(type)                                                               \
  asm volatile(                                                                           \
      "{.reg .pred add; setp.ne.b32 add, 1, 0;\n"                                         \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" MG_WGMMA_NAMES_64 \
      "}, %64, %65, add, 1, 1, 0, 0;}"                                                    \
      : MG_WGMMA_32(0), MG_WGMMA_32(32)                                                   \
      : "l"(wgmma_descriptor(a)), "l"(wgmma_descriptor(b)))
#define MG_WGMMA_N256(type)                                                               \
  asm volatile(                                                                           \
      "{.reg .pred add; setp.ne.b32 add, 1, 0;\n"                                         \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" MG_WGMMA_NAMES_64 \
      ", " MG_WGMMA_NAMES_NEXT_64 "}, %128, %129, add, 1, 1, 0, 0;}"                      \
      : MG_WGMMA_32(0), MG_WGMMA_32(32), MG_WGMMA_32(64), MG_WGMMA_32(96)                 \
      : "l"(wgmma_descriptor(a)), "l"(wgmma_descriptor(b)))

template <class T, int N>
__device__ __forceinline__ void wgmma_m64k16(float (&d)[N / 2], const void* a, const void* b) {
  static_assert(sizeof(T) == 2 && (N == 128 || N == 256), "no kernel has needed others so far");
  if constexpr (N == 128 && kIsBfloat16<T>) MG_WGMMA_N128("bf16");
  if constexpr (N == 128 && !kIsBfloat16<T>) MG_WGMMA_N128("f16");
  if constexpr (N == 256 && kIsBfloat16<T>) MG_WGMMA_N256("bf16");
  if constexpr (N == 256 && !kIsBfloat16<T>) MG_WGMMA_N256("f16");
}

#undef MG_WGMMA_N256
#undef MG_WGMMA_N128
#undef MG_WGMMA_32
#undef MG_WGMMA_8
#undef MG_WGMMA_NAMES_NEXT_64
#undef MG_WGMMA_NAMES_64

}  // namespace mg
