// Stores four 8 x 8 matrices of 16-bit elements from a warp's registers to shared memory: stmatrix,
// the reverse of <mg/ldmatrix.cuh>. Needs compute capability 9.0; the cpu device does it in C++.
//
//   mg::stmatrix_x4(row, words);                words[m]: two elements of matrix m
//
// Every lane of the warp calls it. Lane 8 * m + r passes the address of row r of matrix m: 16 bytes
// in shared memory, 16-byte aligned. With g = lane / 4 and q = lane % 4, a lane gives the elements
// (g, 2 * q) and (g, 2 * q + 1) of each matrix, the first in the lower half of the word. So
// accumulators of <mg/mma.cuh> and <mg/wgmma.cuh>, rounded by mg::pack, are such words.
//
//   mg::stmatrix_x4_transposed(row, words);     the lane gives the elements (2 * q, g) and
//                                               (2 * q + 1, g): rows become columns

#pragma once

#include <mg/ldmatrix.cuh>
#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

inline void stmatrix_x4(void* row, const u32 (&words)[4]) {
  const u32 lane = threadIdx.x % 32u;
  for (u32 m = 0; m < 4; ++m) {
    auto* const to = const_cast<unsigned char*>(row_of_lane(row, 8u * m + lane / 4u));
    memcpy(to + 4u * (lane % 4u), &words[m], 4);
  }
}

inline void stmatrix_x4_transposed(void* row, const u32 (&words)[4]) {
  const u32 lane = threadIdx.x % 32u;
  for (u32 m = 0; m < 4; ++m) {
    for (u32 i = 0; i < 2; ++i) {
      auto* const to = const_cast<unsigned char*>(row_of_lane(row, 8u * m + lane % 4u * 2u + i));
      memcpy(to + 2u * (lane / 4u), reinterpret_cast<const unsigned char*>(&words[m]) + 2u * i, 2);
    }
  }
}

#else

__device__ __forceinline__ void stmatrix_x4(void* row, const u32 (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<u32>(__cvta_generic_to_shared(row))),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

__device__ __forceinline__ void stmatrix_x4_transposed(void* row, const u32 (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<u32>(__cvta_generic_to_shared(row))),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

#endif

}  // namespace mg
