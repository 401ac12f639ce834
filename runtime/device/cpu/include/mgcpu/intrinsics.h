// CUDA's arithmetic built-ins that no host header has: bits, bit casts, rounded and fast
// single-precision functions, min and max. Fast functions are computed exactly rounded or by libm,
// so their last bits differ from a GPU's.

#pragma once

#include <type_traits>

namespace mgcpu {

template <class To, class From>
inline To bit_cast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  memcpy(&bits, &value, sizeof(To));
  return bits;
}

inline float reciprocal_square_root(float x) { return 1.0f / sqrtf(x); }

template <class A, class B>
concept Numbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B>;

}  // namespace mgcpu

inline int __float_as_int(float x) { return mgcpu::bit_cast<int>(x); }
inline unsigned int __float_as_uint(float x) { return mgcpu::bit_cast<unsigned int>(x); }
inline float __int_as_float(int x) { return mgcpu::bit_cast<float>(x); }
inline float __uint_as_float(unsigned int x) { return mgcpu::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return mgcpu::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return mgcpu::bit_cast<double>(x); }

inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned int __brev(unsigned int x) {
  unsigned int reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= ((x >> bit) & 1u) << (31 - bit);
  return reversed;
}

inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}

// Each nibble of `selector` selects a byte of b:a. If its top bit is set, the result is the sign of
// that byte, repeated.
inline unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
  const unsigned long long bytes = (static_cast<unsigned long long>(b) << 32) | a;
  unsigned int result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned int choice = (selector >> (4 * i)) & 0xfu;
    unsigned int byte = static_cast<unsigned int>(bytes >> (8 * (choice & 7u))) & 0xffu;
    if ((choice & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}

inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  const unsigned long long both = (static_cast<unsigned long long>(high) << 32) | low;
  return static_cast<unsigned int>((both << (shift & 31u)) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  const unsigned long long both = (static_cast<unsigned long long>(high) << 32) | low;
  return static_cast<unsigned int>(both >> (shift & 31u));
}

inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return mgcpu::reciprocal_square_root(x); }

// Macros, because glibc's <math.h> declares these names (rsqrtf from 2.42 on) and libm does not
// export most of them: a call compiles and the library then does not load.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __sincosf(x, sine, cosine) sincosf(x, sine, cosine)
#define __powf(x, y) powf(x, y)
#define rsqrtf(x) ::mgcpu::reciprocal_square_root(x)

// Like CUDA's overloads: mixed types are converted to their common type. Of a number and a NaN the
// result is the number.
template <class A, class B>
requires mgcpu::Numbers<A, B>
inline std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  if constexpr (std::is_floating_point_v<T>) {
    return __builtin_fmin(x, y);
  } else {
    return y < x ? y : x;
  }
}

template <class A, class B>
requires mgcpu::Numbers<A, B>
inline std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  if constexpr (std::is_floating_point_v<T>) {
    return __builtin_fmax(x, y);
  } else {
    return x < y ? y : x;
  }
}
