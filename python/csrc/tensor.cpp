#include "tensor.h"

#include <array>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace mgtune::torch {
namespace {

constexpr std::size_t kMaxDims = 64;  // as many as PyTorch allows

}  // namespace

Tensor Tensor::empty(std::span<const std::int64_t> sizes, std::int32_t dtype, DeviceKey device) {
  if (sizes.size() > kMaxDims) throw std::invalid_argument("a tensor has more than 64 dims");
  std::array<std::int64_t, kMaxDims> strides;  // only the first ones are set and read
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (sizes[i] > 1) stride *= sizes[i];
  }
  return empty_strided(sizes, std::span(strides).first(sizes.size()), dtype, device);
}

Tensor Tensor::empty_strided(std::span<const std::int64_t> sizes,
                             std::span<const std::int64_t> strides, std::int32_t dtype,
                             DeviceKey device) {
  TensorHandle handle = nullptr;
  check(torch_abi().aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.data(),
                                             strides.data(), dtype, device.type, device.index,
                                             &handle));
  Tensor tensor(handle);
  tensor.known_.dtype = dtype;
  tensor.known_.device = device;
  return tensor;
}

void Tensor::ask_sizes() const {
  std::int64_t* sizes = nullptr;
  check(torch_abi().aoti_torch_get_sizes(handle_, &sizes));
  check(torch_abi().aoti_torch_get_dim(handle_, &known_.dims));
  known_.sizes = sizes;
}

void Tensor::ask_strides() const {
  std::int64_t* strides = nullptr;
  check(torch_abi().aoti_torch_get_strides(handle_, &strides));
  if (known_.dims == kUnknown) ask_sizes();
  known_.strides = strides;
}

void Tensor::ask_dtype() const { check(torch_abi().aoti_torch_get_dtype(handle_, &known_.dtype)); }

void Tensor::ask_device() const {
  DeviceKey device;
  check(torch_abi().aoti_torch_get_device_type(handle_, &device.type));
  check(torch_abi().aoti_torch_get_device_index(handle_, &device.index));
  known_.device = device;
}

std::int64_t Tensor::element_count() const {
  const std::span<const std::int64_t> all = sizes();
  return std::accumulate(all.begin(), all.end(), std::int64_t{1}, std::multiplies<>());
}

void* Tensor::data() const {
  void* data = nullptr;
  check(torch_abi().aoti_torch_get_data_ptr(handle_, &data));
  return data;
}

Tensor Tensor::contiguous_copy() const {
  Tensor copy = empty(sizes(), dtype(), device());
  check(torch_abi().aoti_torch_copy_(copy.get(), handle_, 0));
  return copy;
}

void Tensor::fill_with_zero() { check(torch_abi().aoti_torch_zero_(handle_)); }

}  // namespace mgtune::torch
