// N elements of float, __half or __nv_bfloat16 that are loaded and stored by one access of 2 to 16
// bytes, and conversions between these types and float.
//
//   mg::Vec<T, 8> x = mg::load<8>(row + column);     row + column aligned to 8 * sizeof(T) bytes
//   mg::store<8>(out + column, x);
//   mg::Pieces<float, 8> w = mg::load_pieces<8>(weight + column);    more than 16 bytes: w[i]
//
// A misaligned pointer is an error on every device. The cpu device finds it in sanitizer builds.
// Conversions from float round to nearest even. Conversions to float are exact.

#pragma once

#include <mg/half_types.cuh>

namespace mg {

template <class T, int N>
struct alignas(N * sizeof(T)) Vec {
  static_assert(N > 0 && (N & (N - 1)) == 0, "one access is a power of two of elements");
  static_assert(N * sizeof(T) <= 16, "one access is at most 16 bytes");
  T data[N];
};

// The type that is loaded and stored by one instruction for this many bytes. A struct of eight
// 16-bit elements would not do, because nvcc may split its copy.
template <int kBytes>
struct AccessOf;
template <>
struct AccessOf<2> {
  using Type = unsigned short;
};
template <>
struct AccessOf<4> {
  using Type = unsigned int;
};
template <>
struct AccessOf<8> {
  using Type = uint2;
};
template <>
struct AccessOf<16> {
  using Type = uint4;
};

template <class T, int N>
using Access = typename AccessOf<static_cast<int>(sizeof(Vec<T, N>))>::Type;

template <int N, class T>
__device__ __forceinline__ Vec<T, N> load(const T* from) {
  const Access<T, N> bits = *reinterpret_cast<const Access<T, N>*>(from);
  Vec<T, N> value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

template <int N, class T>
__device__ __forceinline__ void store(T* to, const Vec<T, N>& value) {
  Access<T, N> bits;
  memcpy(&bits, &value, sizeof(bits));
  *reinterpret_cast<Access<T, N>*>(to) = bits;
}

// Stores data that nobody reads again soon: the caches drop it first.
template <int N, class T>
__device__ __forceinline__ void store_streaming(T* to, const Vec<T, N>& value) {
  Access<T, N> bits;
  memcpy(&bits, &value, sizeof(bits));
  __stcs(reinterpret_cast<Access<T, N>*>(to), bits);
}

// N elements that are accessed in pieces of at most 16 bytes. The alignment is that of one piece.
template <class T, int N>
struct Pieces {
  static constexpr int kPiece = N * sizeof(T) <= 16 ? N : static_cast<int>(16 / sizeof(T));
  Vec<T, kPiece> pieces[N / kPiece];
  __device__ __forceinline__ T operator[](int i) const {
    return pieces[i / kPiece].data[i % kPiece];
  }
};

template <int N, class T>
__device__ __forceinline__ Pieces<T, N> load_pieces(const T* from) {
  constexpr int kPiece = Pieces<T, N>::kPiece;
  Pieces<T, N> value;
#pragma unroll
  for (int i = 0; i < N / kPiece; ++i) value.pieces[i] = load<kPiece>(from + i * kPiece);
  return value;
}

template <class T>
__device__ __forceinline__ float to_float(T value) {
  return static_cast<float>(value);
}

template <class T>
__device__ __forceinline__ T from_float(float value) {
  return static_cast<T>(value);
}

}  // namespace mg
