// The element types of tensors and kernel arguments, exact host conversions of the 16-bit types,
// and scalar arguments. All numbers are converted here: the ones that programs pass, the ones of
// checks, and the values of an operator's expressions. Pure functions on plain values.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mgtune {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, u64, i32, u32, i8, u8 };
inline constexpr std::array<DType, 10> kDTypes = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                                  DType::i64, DType::u64, DType::i32, DType::u32,
                                                  DType::i8,  DType::u8};

std::string_view to_string(DType dtype);                   // "bf16", as in JSON, SQL and CLI
std::string_view cuda_name(DType dtype);                   // "__nv_bfloat16", as in CUDA C++
std::optional<DType> dtype_from_string(std::string_view);  // nullopt for an unknown word
std::int64_t size_in_bytes(DType dtype);
bool is_floating(DType dtype);

// These round to nearest even, as the GPU's conversions do. NaN stays NaN.
std::uint16_t f16_from_float(float value);
float float_from_f16(std::uint16_t bits);
std::uint16_t bf16_from_float(float value);
float float_from_bf16(std::uint16_t bits);

// The element at `index` of an array of `dtype`, as a double (exact for all but huge i64 and u64).
double element_as_double(const void* array, std::int64_t index, DType dtype);

// Sets the element. 16-bit floats are rounded from fp32. An integer type must be able to hold the
// value; its fraction is cut off.
void put_element(void* array, std::int64_t index, DType dtype, double value);

// Calls function(T()) with the C++ type of an element. Both 16-bit types are std::uint16_t.
// NOLINTBEGIN(bugprone-branch-clone): the branches differ in the type
template <typename Function>
auto with_element_type(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::f64:
      return function(double());
    case DType::f32:
      return function(float());
    case DType::f16:
    case DType::bf16:
      return function(std::uint16_t());
    case DType::i64:
      return function(std::int64_t());
    case DType::u64:
      return function(std::uint64_t());
    case DType::i32:
      return function(std::int32_t());
    case DType::u32:
      return function(std::uint32_t());
    case DType::i8:
      return function(std::int8_t());
    case DType::u8:
      break;
  }
  return function(std::uint8_t());
}
// NOLINTEND(bugprone-branch-clone)

// A scalar kernel argument as it stands in the argument block. The value in its declared dtype is
// in the low bytes. The other bytes are zero.
union ScalarValue {
  double f64;
  float f32;
  std::int64_t i64;
  std::int32_t i32;
};

// Returns false if `dtype` cannot hold `value`. An integer dtype must hold it exactly, a floating
// dtype as a finite number. Floating dtypes round to nearest even. NaN and infinities are kept.
bool encode_scalar(double value, DType dtype, ScalarValue& scalar);

// The same for an exact integer.
bool encode_integer(std::int64_t value, DType dtype, ScalarValue& scalar);

}  // namespace mgtune
