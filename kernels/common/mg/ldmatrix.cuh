// Loads four 8 x 8 matrices of 16-bit elements from shared memory into a warp's registers, in the
// layout that mma.sync takes: ldmatrix. Needs compute capability 7.5; the cpu device does it in
// C++.
//
//   mg::ldmatrix_x4(out, row);                  out[m]: two elements of matrix m
//   mg::ldmatrix_x4_transposed(out, row);
//
// Every lane of the warp calls it. Lane 8 * m + r passes the address of row r of matrix m: 16 bytes
// in shared memory, 16-byte aligned. With g = lane / 4 and q = lane % 4, a lane gets the elements
// (g, 2 * q) and (g, 2 * q + 1) of each matrix. Transposed, these are (2 * q, g) and (2 * q + 1,
// g). The first element lies in the lower half of the word.

#pragma once

#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

// Returns the `row` that another lane passed. Every lane of the warp calls it.
inline const unsigned char* row_of_lane(const void* row, u32 lane) {
  const u64 address = __shfl_sync(0xffffffffu, reinterpret_cast<u64>(row), static_cast<int>(lane));
  return reinterpret_cast<const unsigned char*>(address);
}

inline void ldmatrix_x4(u32 (&out)[4], const void* row) {
  const u32 lane = threadIdx.x % 32u;
  for (u32 m = 0; m < 4; ++m) {
    memcpy(&out[m], row_of_lane(row, 8u * m + lane / 4u) + 4u * (lane % 4u), 4);
  }
}

inline void ldmatrix_x4_transposed(u32 (&out)[4], const void* row) {
  const u32 lane = threadIdx.x % 32u;
  for (u32 m = 0; m < 4; ++m) {
    unsigned short two[2];
    for (u32 i = 0; i < 2; ++i) {
      memcpy(&two[i], row_of_lane(row, 8u * m + 2u * (lane % 4u) + i) + 2u * (lane / 4u), 2);
    }
    memcpy(&out[m], two, 4);
  }
}

#else

#define MG_LDMATRIX_X4(modifier)                                                              \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" modifier ".shared.b16 {%0, %1, %2, %3}, [%4];" \
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])                       \
               : "r"(static_cast<u32>(__cvta_generic_to_shared(row)))                         \
               : "memory")

__device__ __forceinline__ void ldmatrix_x4(u32 (&out)[4], const void* row) { MG_LDMATRIX_X4(""); }

__device__ __forceinline__ void ldmatrix_x4_transposed(u32 (&out)[4], const void* row) {
  MG_LDMATRIX_X4(".trans");
}

#undef MG_LDMATRIX_X4

#endif

}  // namespace mg
