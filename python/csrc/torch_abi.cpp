#include "torch_abi.h"

#include <dlfcn.h>

#include <stdexcept>

namespace mgtune::torch {
namespace {

TorchAbi abi;

void* loaded_library(const char* name) { return ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD); }

template <typename Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string bind_torch_abi() {
  void* const cpu = loaded_library("libtorch_cpu.so");
  if (cpu == nullptr) {
    return "this process has not loaded PyTorch (libtorch_cpu.so): import torch first";
  }
  const auto missing = [](const char* name) {
    return std::string("PyTorch 2.10 or newer is needed: this one has no function ") + name;
  };
#define MGTUNE_BIND(name, parameters) \
  if (!bind(cpu, #name, abi.name)) return missing(#name);
  MGTUNE_TORCH_FUNCTIONS(MGTUNE_BIND)
#undef MGTUNE_BIND
  std::int32_t (*code)() = nullptr;
#define MGTUNE_BIND(name)                             \
  if (!bind(cpu, #name, code)) return missing(#name); \
  abi.name = code();
#define MGTUNE_BIND_DTYPE(dtype) MGTUNE_BIND(aoti_torch_dtype_##dtype)
  MGTUNE_TORCH_DTYPES(MGTUNE_BIND_DTYPE)
  MGTUNE_BIND(aoti_torch_device_type_cpu)
  MGTUNE_BIND(aoti_torch_device_type_cuda)
#undef MGTUNE_BIND_DTYPE
#undef MGTUNE_BIND
  // Only newer versions have it; without it messages are shorter.
  (void)bind(cpu, "torch_exception_get_what_without_backtrace",
             abi.torch_exception_get_what_without_backtrace);
  if (void* const cuda = loaded_library("libtorch_cuda.so"); cuda != nullptr) {
    (void)bind(cuda, "aoti_torch_get_current_cuda_stream", abi.aoti_torch_get_current_cuda_stream);
  }
  return "";
}

const TorchAbi& torch_abi() { return abi; }

void check(std::int32_t error) {
  if (error == 0) return;
  const char* what = abi.torch_exception_get_what_without_backtrace == nullptr
                         ? nullptr
                         : abi.torch_exception_get_what_without_backtrace();
  throw std::runtime_error(what == nullptr || *what == '\0' ? "a function of PyTorch failed"
                                                            : what);
}

}  // namespace mgtune::torch
