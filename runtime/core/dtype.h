// The element types of tensors and kernel arguments, and exact host conversions of the 16-bit
// types. Pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mgtune {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, u64, i32, u32, i8, u8 };

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

}  // namespace mgtune
