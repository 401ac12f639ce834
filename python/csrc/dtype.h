// Names of dtypes: libmgruntime's for those that kernels exist for, and PyTorch's for messages.
#pragma once

#include <cstdint>
#include <string>

namespace mgtune::torch {

// "f32", "f16" or "bf16" for one of PyTorch's codes. Throws std::invalid_argument for all others.
const char* dtype_name(std::int32_t code);

// "float64"
std::string dtype_text(std::int32_t code);

}  // namespace mgtune::torch
