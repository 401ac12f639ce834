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
//
// Sizes, strides, dtype and device do not change while an operator runs. So each is asked for once:
// an operator reads them many times, and a call of PyTorch costs more than the work between two.
class Tensor {
 public:
  Tensor() = default;  // no tensor
  explicit Tensor(TensorHandle handle) : handle_(handle) {}
  Tensor(Tensor&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), known_(other.known_) {}
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(known_, other.known_);
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

  std::span<const std::int64_t> sizes() const {
    if (known_.dims == kUnknown) ask_sizes();
    return {known_.sizes, static_cast<std::size_t>(known_.dims)};
  }
  // In elements.
  std::span<const std::int64_t> strides() const {
    if (known_.strides == nullptr) ask_strides();
    return {known_.strides, static_cast<std::size_t>(known_.dims)};
  }
  std::int64_t element_count() const;
  // One of PyTorch's codes.
  std::int32_t dtype() const {
    if (known_.dtype == kUnknown) ask_dtype();
    return known_.dtype;
  }
  DeviceKey device() const {
    if (known_.device.type == kUnknown) ask_device();
    return known_.device;
  }
  void* data() const;

  // A new contiguous tensor with the same elements.
  Tensor contiguous_copy() const;
  void fill_with_zero();

 private:
  static constexpr std::int32_t kUnknown = -1;

  // What PyTorch was asked for.
  struct Known {
    std::int64_t dims = kUnknown;
    const std::int64_t* sizes = nullptr;
    const std::int64_t* strides = nullptr;
    std::int32_t dtype = kUnknown;
    DeviceKey device{kUnknown, kUnknown};
  };

  void ask_sizes() const;
  void ask_strides() const;
  void ask_dtype() const;
  void ask_device() const;

  TensorHandle handle_ = nullptr;
  mutable Known known_;
};

}  // namespace mgtune::torch
