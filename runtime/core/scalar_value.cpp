#include "core/scalar_value.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace mgtune {
namespace {

template <typename T>
bool put(T value, ScalarValue& scalar) {
  scalar.i64 = 0;
  std::memcpy(&scalar, &value, sizeof(value));
  return true;
}

// If the conversion turns a finite number into an infinity, the number is lost.
template <typename Bits>
bool put_half(float value, Bits (*from_float)(float), float (*to_float)(Bits),
              ScalarValue& scalar) {
  const Bits bits = from_float(value);
  if (std::isfinite(value) && !std::isfinite(to_float(bits))) return false;
  return put(bits, scalar);
}

bool put_float(double value, DType dtype, ScalarValue& scalar) {
  const auto narrow = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(narrow)) return false;
  if (dtype == DType::f16) return put_half(narrow, f16_from_float, float_from_f16, scalar);
  if (dtype == DType::bf16) return put_half(narrow, bf16_from_float, float_from_bf16, scalar);
  return put(narrow, scalar);
}

// Calls `put_as(T())` with the C++ type of an integer dtype.
// NOLINTBEGIN(bugprone-branch-clone): the branches differ in the type
template <typename PutAs>
bool with_integer_type(DType dtype, const PutAs& put_as) {
  switch (dtype) {
    case DType::i64:
      return put_as(std::int64_t());
    case DType::u64:
      return put_as(std::uint64_t());
    case DType::i32:
      return put_as(std::int32_t());
    case DType::u32:
      return put_as(std::uint32_t());
    case DType::i8:
      return put_as(std::int8_t());
    case DType::u8:
      return put_as(std::uint8_t());
    case DType::f64:
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      break;
  }
  return false;
}
// NOLINTEND(bugprone-branch-clone)

}  // namespace

bool encode_scalar(double value, DType dtype, ScalarValue& scalar) {
  if (dtype == DType::f64) return put(value, scalar);
  if (is_floating(dtype)) return put_float(value, dtype, scalar);
  return with_integer_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    // The largest 64-bit integers are not representable as doubles. The power of two above them is.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const auto smallest = static_cast<double>(std::numeric_limits<T>::min());
    if (!(value >= smallest && value < end) || value != std::trunc(value)) return false;
    return put(static_cast<T>(value), scalar);
  });
}

bool encode_integer(std::int64_t value, DType dtype, ScalarValue& scalar) {
  if (dtype == DType::f32) return put(static_cast<float>(value), scalar);  // rounded once
  if (is_floating(dtype)) return encode_scalar(static_cast<double>(value), dtype, scalar);
  return with_integer_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    return std::in_range<T>(value) && put(static_cast<T>(value), scalar);
  });
}

}  // namespace mgtune
