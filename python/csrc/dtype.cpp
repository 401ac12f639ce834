#include "dtype.h"

#include <stdexcept>

#include "torch_abi.h"

namespace mgtune::torch {

const char* dtype_name(std::int32_t code) {
  const TorchAbi& abi = torch_abi();
  if (code == abi.aoti_torch_dtype_float32) return "f32";
  if (code == abi.aoti_torch_dtype_float16) return "f16";
  if (code == abi.aoti_torch_dtype_bfloat16) return "bf16";
  throw std::invalid_argument(
      "mgtune has kernels for float32, float16 and bfloat16, but the tensor is " +
      dtype_text(code));
}

std::string dtype_text(std::int32_t code) {
  const TorchAbi& abi = torch_abi();
#define MGTUNE_NAME(dtype) \
  if (code == abi.aoti_torch_dtype_##dtype) return #dtype;
  MGTUNE_TORCH_DTYPES(MGTUNE_NAME)
#undef MGTUNE_NAME
  return "of PyTorch's dtype with the code " + std::to_string(code);
}

}  // namespace mgtune::torch
