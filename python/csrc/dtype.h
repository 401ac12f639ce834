// The dtypes that kernels exist for, by libmgruntime's names.
#pragma once

#include <cstdint>

namespace mgtune::torch {

// "f32", "f16" or "bf16" for one of PyTorch's codes. Throws std::invalid_argument for all others.
const char* dtype_name(std::int32_t code);

}  // namespace mgtune::torch
