// Packs a value and its column into one key. The largest key of a row belongs to its largest value,
// and to the first column among equal values, in whatever order the keys are compared.
//
//   mg::u64 key = mg::u64{mg::ordered(value)} << 32 | ~column;    0 is below every key
//   mg::value_of(key), mg::column_of(key)                         the reverse
//
// ordered() orders as the floats do, with NaN below all of them and -0 equal to 0. So value_of() is
// 0 for -0, and a NaN for NaN.

#pragma once

#include <mg/types.cuh>

namespace mg {

__device__ __forceinline__ u32 ordered(float value) {
  if (value != value) return 0;
  const u32 bits = __float_as_uint(value + 0.0f);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float value_of(u64 key) {
  const u32 order = static_cast<u32>(key >> 32);
  return __uint_as_float((order & 0x80000000u) != 0 ? order ^ 0x80000000u : ~order);
}

__device__ __forceinline__ int column_of(u64 key) {
  return static_cast<int>(~static_cast<u32>(key));
}

}  // namespace mg
