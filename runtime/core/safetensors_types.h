// The names that files of the safetensors format have for element types. Plain data.

#pragma once

#include <array>
#include <string_view>

#include "core/dtype.h"

namespace mgtune {

struct NamedDType {
  std::string_view name;
  DType dtype;
};

// A boolean is a byte. The 8-bit floats of the format are not among them.
inline constexpr std::array<NamedDType, 11> kSafetensorsTypes = {{{"F64", DType::f64},
                                                                  {"F32", DType::f32},
                                                                  {"F16", DType::f16},
                                                                  {"BF16", DType::bf16},
                                                                  {"I64", DType::i64},
                                                                  {"U64", DType::u64},
                                                                  {"I32", DType::i32},
                                                                  {"U32", DType::u32},
                                                                  {"I8", DType::i8},
                                                                  {"U8", DType::u8},
                                                                  {"BOOL", DType::u8}}};

}  // namespace mgtune
