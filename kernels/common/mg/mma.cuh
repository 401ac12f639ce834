// Matrix products of one warp on the tensor cores, with fp32 accumulators: mma.sync.
//
//   mg::mma_m16n8<T, 16>(d, a, b);      d (16 x 8) += a (16 x 16) * b (16 x 8); T is half or bf16
//   mg::pack<T>(low, high)              rounds two floats into one word of a or b
//   mg::unpack<T>(word, two)            the reverse
//   mg::quad_max(x), mg::quad_sum(x)    over the four lanes that hold a row of d; whole warps call
//
// Every lane of the warp calls mma_m16n8 and holds its part of the matrices, as PTX lays them out
// ("Matrix fragments for mma.m16n8k16"). A word holds two elements of T; the element of lower k is
// in the lower half. With g = lane / 4 and q = lane % 4:
//
//   a[2 * h + r]   row g + 8 * r of a, k = 8 * h + 2 * q and the next     h < K / 8, r < 2
//   b[h]           column g of b, k = 8 * h + 2 * q and the next
//   d[2 * r + c]   row g + 8 * r, column 2 * q + c                        c < 2
//
// K = 8 with half needs compute capability 7.5; the other forms need 8.0. The cpu device has all
// forms, for one-dimensional blocks: each lane gathers its rows and columns by shuffles.
// Numerics: products are exact. The device decides the order of the sums and how they are rounded.

#pragma once

#include <mg/convert.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

template <class T>
constexpr bool kIsBfloat16 = false;
template <>
constexpr bool kIsBfloat16<__nv_bfloat16> = true;

template <class T>
__device__ __forceinline__ u32 pack(float low, float high) {
  const float two[2] = {low, high};
  const Vec<T, 2> rounded = from_floats<T>(two);
  u32 word;
  memcpy(&word, &rounded, sizeof(word));
  return word;
}

template <class T>
__device__ __forceinline__ void unpack(u32 word, float (&two)[2]) {
  Vec<T, 2> elements;
  memcpy(&elements, &word, sizeof(word));
  to_floats(elements, two);
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

#if defined(MGTUNE_CPU_DEVICE)

template <class T, int K>
void mma_m16n8(float* d, const u32* a, const u32* b) {
  static_assert(sizeof(T) == 2 && (K == 8 || K == 16), "m16n8k8 and m16n8k16 of 16-bit types");
  const u32 lane = threadIdx.x % 32u, group = lane / 4u, quad = lane % 4u;
  float rows[2][K], columns[2][K];
  for (u32 from = 0; from < 4; ++from) {  // the lane of the quad that holds this part
    for (int h = 0; h < K / 8; ++h) {
      const u32 k = 8u * static_cast<u32>(h) + 2u * from;
      for (u32 i = 0; i < 2; ++i) {
        const u32 row = __shfl_sync(0xffffffffu, a[2 * h + static_cast<int>(i)],
                                    static_cast<int>(4u * group + from));
        float two[2];
        unpack<T>(row, two);
        rows[i][k] = two[0];
        rows[i][k + 1] = two[1];
        const u32 column =
            __shfl_sync(0xffffffffu, b[h], static_cast<int>(4u * (2u * quad + i) + from));
        unpack<T>(column, two);
        columns[i][k] = two[0];
        columns[i][k + 1] = two[1];
      }
    }
  }
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      for (int k = 0; k < K; ++k) d[2 * r + c] += rows[r][k] * columns[c][k];
    }
  }
}

#else

#define MG_MMA_K8(type)                                                   \
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." type "." type      \
               ".f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define MG_MMA_K16(type)                                                              \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <class T, int K>
__device__ __forceinline__ void mma_m16n8(float* d, const u32* a, const u32* b) {
  static_assert(sizeof(T) == 2 && (K == 8 || K == 16), "m16n8k8 and m16n8k16 of 16-bit types");
  if constexpr (K == 8 && kIsBfloat16<T>) MG_MMA_K8("bf16");
  if constexpr (K == 8 && !kIsBfloat16<T>) MG_MMA_K8("f16");
  if constexpr (K == 16 && kIsBfloat16<T>) MG_MMA_K16("bf16");
  if constexpr (K == 16 && !kIsBfloat16<T>) MG_MMA_K16("f16");
}

#undef MG_MMA_K8
#undef MG_MMA_K16

#endif

}  // namespace mg
