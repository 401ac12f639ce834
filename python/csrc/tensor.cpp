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
  std::array<std::int64_t, kMaxDims> strides{};
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
  return Tensor(handle);
}

std::span<const std::int64_t> Tensor::sizes() const {
  std::int64_t dims = 0;
  std::int64_t* sizes = nullptr;
  check(torch_abi().aoti_torch_get_dim(handle_, &dims));
  check(torch_abi().aoti_torch_get_sizes(handle_, &sizes));
  return {sizes, static_cast<std::size_t>(dims)};
}

std::span<const std::int64_t> Tensor::strides() const {
  std::int64_t dims = 0;
  std::int64_t* strides = nullptr;
  check(torch_abi().aoti_torch_get_dim(handle_, &dims));
  check(torch_abi().aoti_torch_get_strides(handle_, &strides));
  return {strides, static_cast<std::size_t>(dims)};
}

std::int64_t Tensor::element_count() const {
  const std::span<const std::int64_t> all = sizes();
  return std::accumulate(all.begin(), all.end(), std::int64_t{1}, std::multiplies<>());
}

std::int32_t Tensor::dtype() const {
  std::int32_t dtype = 0;
  check(torch_abi().aoti_torch_get_dtype(handle_, &dtype));
  return dtype;
}

DeviceKey Tensor::device() const {
  DeviceKey device;
  check(torch_abi().aoti_torch_get_device_type(handle_, &device.type));
  check(torch_abi().aoti_torch_get_device_index(handle_, &device.index));
  return device;
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
