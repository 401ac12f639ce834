// The functions of PyTorch's stable C interface that the operators call, from
// torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h (PyTorch 2.10 and newer).
// They are looked up in the libtorch that the process has loaded: nothing of PyTorch is needed to
// build the operators, and one binary serves all later versions.
//
// Each function returns 0 for success. check() turns everything else into an exception with
// PyTorch's message: PyTorch expects of an operator that it reports errors by exceptions.
#pragma once

#include <cstdint>
#include <string>

namespace mgtune::torch {

struct TensorOpaque;
struct LibraryOpaque;
struct DeviceGuardOpaque;
using TensorHandle = TensorOpaque*;
using LibraryHandle = LibraryOpaque*;
using DeviceGuardHandle = DeviceGuardOpaque*;

// An argument or a result of an operator: the bits of a bool, an integer, a double, or a handle.
using StackValue = std::uint64_t;
// Takes its arguments from the stack and leaves its results there. It owns the handles that it
// finds, and PyTorch owns those that it leaves.
using OperatorFunction = void (*)(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);

// X(name, parameters)
#define MGTUNE_TORCH_FUNCTIONS(X)                                                           \
  X(aoti_torch_get_dim, (TensorHandle, std::int64_t*))                                      \
  X(aoti_torch_get_sizes, (TensorHandle, std::int64_t**))                                   \
  X(aoti_torch_get_strides, (TensorHandle, std::int64_t**))                                 \
  X(aoti_torch_get_dtype, (TensorHandle, std::int32_t*))                                    \
  X(aoti_torch_get_device_type, (TensorHandle, std::int32_t*))                              \
  X(aoti_torch_get_device_index, (TensorHandle, std::int32_t*))                             \
  X(aoti_torch_get_data_ptr, (TensorHandle, void**))                                        \
  X(aoti_torch_empty_strided, (std::int64_t, const std::int64_t*, const std::int64_t*,      \
                               std::int32_t, std::int32_t, std::int32_t, TensorHandle*))    \
  X(aoti_torch_copy_, (TensorHandle, TensorHandle, std::int32_t))                           \
  X(aoti_torch_zero_, (TensorHandle))                                                       \
  X(aoti_torch_delete_tensor_object, (TensorHandle))                                        \
  X(aoti_torch_get_current_device_index, (std::int32_t*))                                   \
  X(aoti_torch_create_device_guard, (std::int32_t, DeviceGuardHandle*))                     \
  X(aoti_torch_delete_device_guard, (DeviceGuardHandle))                                    \
  X(aoti_torch_library_init_def, (const char*, const char*, std::uint32_t, LibraryHandle*)) \
  X(aoti_torch_library_init_impl,                                                           \
    (const char*, const char*, const char*, std::uint32_t, LibraryHandle*))                 \
  X(aoti_torch_library_def, (LibraryHandle, const char*))                                   \
  X(torch_library_impl, (LibraryHandle, const char*, OperatorFunction, std::uint64_t))

// The dtypes that kernels take, and those that messages name.
#define MGTUNE_TORCH_DTYPES(X) \
  X(float32)                   \
  X(float16)                   \
  X(bfloat16)                  \
  X(float64)                   \
  X(complex64)                 \
  X(bool)                      \
  X(uint8)                     \
  X(int8)                      \
  X(int16)                     \
  X(int32)                     \
  X(int64)

// NOLINTBEGIN(bugprone-macro-parentheses): a parameter list in parentheses would be another type
struct TorchAbi {
#define MGTUNE_MEMBER(name, parameters) std::int32_t(*name) parameters = nullptr;
  MGTUNE_TORCH_FUNCTIONS(MGTUNE_MEMBER)
#undef MGTUNE_MEMBER
  // The codes of dtypes and device types, which are functions in the interface.
#define MGTUNE_MEMBER(dtype) std::int32_t aoti_torch_dtype_##dtype = 0;
  MGTUNE_TORCH_DTYPES(MGTUNE_MEMBER)
#undef MGTUNE_MEMBER
  std::int32_t aoti_torch_device_type_cpu = 0;
  std::int32_t aoti_torch_device_type_cuda = 0;
  // Null if this PyTorch was built without CUDA.
  std::int32_t (*aoti_torch_get_current_cuda_stream)(std::int32_t device, void** stream) = nullptr;
  const char* (*torch_exception_get_what_without_backtrace)() = nullptr;
};
// NOLINTEND(bugprone-macro-parentheses)

// The version of the interface that the operators are written for: PyTorch 2.10.
inline constexpr std::uint64_t kTorchAbiVersion =
    (std::uint64_t{2} << 56) | (std::uint64_t{10} << 48);

// Looks up all functions. Returns "" or, if this process has no PyTorch or one that lacks a
// function, a sentence that says so. Call it once, before torch_abi().
std::string bind_torch_abi();

const TorchAbi& torch_abi();

// Throws std::runtime_error with PyTorch's message if a function of the interface failed.
void check(std::int32_t error);

}  // namespace mgtune::torch
