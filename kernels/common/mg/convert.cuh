// Conversions of whole vectors to float and back. Two elements of 16 bits are converted at a time.
// On a GPU this takes half the instructions of converting one by one. The values are those of
// mg::to_float and mg::from_float.
//
//   float values[8];
//   mg::to_floats(vec, values);                    vec: mg::Vec<T, 8> or mg::Pieces<T, 8>
//   vec = mg::from_floats<T>(values);

#pragma once

#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

// A bfloat16 is the upper half of the float of the same value.
template <int N>
__device__ __forceinline__ void to_floats(const Vec<__nv_bfloat16, N>& from, float (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = to_float(from.data[0]);
  } else {
    u32 words[N / 2];
    memcpy(words, &from, sizeof(words));
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      to[2 * i] = __uint_as_float(words[i] << 16);
      to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
  }
}

template <class T, int N>
__device__ __forceinline__ void to_floats(const Vec<T, N>& from, float (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = to_float(from.data[i]);
}

template <class T, int N>
__device__ __forceinline__ void to_floats(const Pieces<T, N>& from, float (&to)[N]) {
  constexpr int kPiece = Pieces<T, N>::kPiece;
#pragma unroll
  for (int piece = 0; piece < N / kPiece; ++piece) {
    float values[kPiece];
    to_floats(from.pieces[piece], values);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) to[piece * kPiece + i] = values[i];
  }
}

// Both results are copied as one word, so that the compiler does not split and rejoin them. For
// GPUs before 8.0 and for the cpu device, mg/half_types.cuh includes CUDA's headers.
__device__ __forceinline__ void round_two(float low, float high, __nv_bfloat16* to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u32 both;
  asm("{ cvt.rn.bf16x2.f32 %0, %2, %1;}" : "=r"(both) : "f"(low), "f"(high));
#else
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
#endif
  memcpy(to, &both, sizeof(both));
}

__device__ __forceinline__ void round_two(float low, float high, __half* to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u32 both;
  asm("{ cvt.rn.f16x2.f32 %0, %2, %1; }" : "=r"(both) : "f"(low), "f"(high));
#else
  const __half2 both = __floats2half2_rn(low, high);
#endif
  memcpy(to, &both, sizeof(both));
}

__device__ __forceinline__ void round_two(float low, float high, float* to) {
  to[0] = low;
  to[1] = high;
}

template <class T, int N>
__device__ __forceinline__ Vec<T, N> from_floats(const float (&from)[N]) {
  Vec<T, N> to;
  if constexpr (N == 1) {
    to.data[0] = from_float<T>(from[0]);
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 2) round_two(from[i], from[i + 1], to.data + i);
  }
  return to;
}

}  // namespace mg
