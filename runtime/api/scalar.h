// Scalars as C callers pass them: doubles, turned into the declared dtype.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/dtype.h"
#include "dispatch/loaded_variant.h"

namespace mgtune {

// False where the integer type cannot hold `value` exactly.
template <typename T>
bool encode_integer(double value, ScalarValue& scalar) {
  // The largest 64-bit integers are no doubles; the power of two above them is.
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const auto smallest = static_cast<double>(std::numeric_limits<T>::min());
  if (!(value >= smallest && value < end) || value != std::trunc(value)) return false;
  const auto narrow = static_cast<T>(value);
  std::memcpy(&scalar, &narrow, sizeof(narrow));
  return true;
}

// False where `dtype` cannot hold `value`. Floating dtypes round to nearest even.
inline bool encode_scalar(double value, DType dtype, ScalarValue& scalar) {
  scalar.i64 = 0;
  switch (dtype) {
    case DType::f64:
      scalar.f64 = value;
      return true;
    case DType::f32:
      scalar.f32 = static_cast<float>(value);
      return true;
    case DType::f16:
      scalar.i64 = f16_from_float(static_cast<float>(value));
      return true;
    case DType::bf16:
      scalar.i64 = bf16_from_float(static_cast<float>(value));
      return true;
    case DType::i64:
      return encode_integer<std::int64_t>(value, scalar);
    case DType::u64:
      return encode_integer<std::uint64_t>(value, scalar);
    case DType::i32:
      return encode_integer<std::int32_t>(value, scalar);
    case DType::u32:
      return encode_integer<std::uint32_t>(value, scalar);
    case DType::i8:
      return encode_integer<std::int8_t>(value, scalar);
    case DType::u8:
      return encode_integer<std::uint8_t>(value, scalar);
  }
  return false;
}

}  // namespace mgtune
