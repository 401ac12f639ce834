#include "core/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace mgtune {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  std::string_view cuda;
  std::int64_t bytes;
  bool floating;
};

constexpr std::array<DTypeFacts, 10> kFacts{{
    {DType::f64, "f64", "double", 8, true},
    {DType::f32, "f32", "float", 4, true},
    {DType::f16, "f16", "__half", 2, true},
    {DType::bf16, "bf16", "__nv_bfloat16", 2, true},
    {DType::i64, "i64", "long long", 8, false},
    {DType::u64, "u64", "unsigned long long", 8, false},
    {DType::i32, "i32", "int", 4, false},
    {DType::u32, "u32", "unsigned int", 4, false},
    {DType::i8, "i8", "signed char", 1, false},
    {DType::u8, "u8", "unsigned char", 1, false},
}};

const DTypeFacts& facts(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)]; }

template <typename T>
T load(const void* array, std::int64_t index) {
  T value;
  std::memcpy(&value,
              static_cast<const char*>(array) + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <typename T>
void store(void* array, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(array) + index * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

template <typename T>
bool put(T value, ScalarValue& scalar) {
  scalar.i64 = 0;
  std::memcpy(&scalar, &value, sizeof(value));
  return true;
}

// If the conversion turns a finite number into an infinity, the number is lost.
bool put_float(double value, DType dtype, ScalarValue& scalar) {
  const auto narrow = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(narrow)) return false;
  if (dtype == DType::f32) return put(narrow, scalar);
  const bool is_f16 = dtype == DType::f16;
  const std::uint16_t bits = is_f16 ? f16_from_float(narrow) : bf16_from_float(narrow);
  const float kept = is_f16 ? float_from_f16(bits) : float_from_bf16(bits);
  return (std::isfinite(kept) || !std::isfinite(value)) && put(bits, scalar);
}

}  // namespace

std::string_view to_string(DType dtype) { return facts(dtype).name; }
std::string_view cuda_name(DType dtype) { return facts(dtype).cuda; }
std::int64_t size_in_bytes(DType dtype) { return facts(dtype).bytes; }
bool is_floating(DType dtype) { return facts(dtype).floating; }

std::optional<DType> dtype_from_string(std::string_view name) {
  for (const DTypeFacts& f : kFacts) {
    if (f.name == name) return f.dtype;
  }
  return std::nullopt;
}

std::uint16_t f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity: 65520 and above
  if (magnitude < 0x38800000u) {
    // Subnormal half: adding 0.5f lets the FPU round the magnitude at 2^-24, half's last place.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

double element_as_double(const void* array, std::int64_t index, DType dtype) {
  if (dtype == DType::f16) return float_from_f16(load<std::uint16_t>(array, index));
  if (dtype == DType::bf16) return float_from_bf16(load<std::uint16_t>(array, index));
  return with_element_type(
      dtype, [&]<typename T>(T) { return static_cast<double>(load<T>(array, index)); });
}

void put_element(void* array, std::int64_t index, DType dtype, double value) {
  if (dtype == DType::f16) return store(array, index, f16_from_float(static_cast<float>(value)));
  if (dtype == DType::bf16) return store(array, index, bf16_from_float(static_cast<float>(value)));
  with_element_type(dtype, [&]<typename T>(T) { store(array, index, static_cast<T>(value)); });
}

bool encode_scalar(double value, DType dtype, ScalarValue& scalar) {
  if (dtype == DType::f64) return put(value, scalar);
  if (is_floating(dtype)) return put_float(value, dtype, scalar);
  return with_element_type(dtype, [&]<typename T>(T) {
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
  return with_element_type(dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      return std::in_range<T>(value) && put(static_cast<T>(value), scalar);
    }
    return false;
  });
}

}  // namespace mgtune
