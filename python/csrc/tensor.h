// A tensor of PyTorch, as far as operators look at it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "torch_abi.h"

namespace mgtune::torch {

struct DeviceKey {
  std::int32_t type = 0;  // one of PyTorch's codes
  std::int32_t index = 0;

  bool operator==(const DeviceKey&) const = default;
  bool is_cuda() const { return type == torch_abi().aoti_torch_device_type_cuda; }
};

// Owns a reference to a tensor. It is movable only, because a copy would have to ask PyTorch for
// another reference. A thread may use it if no other thread does.
class Tensor {
 public:
  Tensor() = default;  // no tensor
  explicit Tensor(TensorHandle handle) : handle_(handle) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_ != nullptr) torch_abi().aoti_torch_delete_tensor_object(handle_);
  }

  // A new contiguous tensor from PyTorch's allocator. Its elements are not initialized.
  static Tensor empty(std::span<const std::int64_t> sizes, std::int32_t dtype, DeviceKey device);

  // The same with these strides, in elements.
  static Tensor empty_strided(std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides, std::int32_t dtype,
                              DeviceKey device);

  TensorHandle get() const { return handle_; }
  TensorHandle release() { return std::exchange(handle_, nullptr); }

  std::span<const std::int64_t> sizes() const;
  std::span<const std::int64_t> strides() const;  // in elements
  std::int64_t element_count() const;
  std::int32_t dtype() const;  // one of PyTorch's codes
  DeviceKey device() const;
  void* data() const;

  // A new contiguous tensor with the same elements.
  Tensor contiguous_copy() const;
  void fill_with_zero();

 private:
  TensorHandle handle_ = nullptr;
};

}  // namespace mgtune::torch
