#include "arguments.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include "dtype.h"

namespace mgtune::torch {
namespace {

std::string device_text(DeviceKey device) {
  return device.is_cuda() ? "cuda:" + std::to_string(device.index) : "cpu";
}

}  // namespace

std::string shape_text(const Tensor& tensor) {
  std::string text = "(";
  for (const std::int64_t size : tensor.sizes()) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + ")";
}

void expect_device(const Tensor& tensor, const char* name, DeviceKey device) {
  if (tensor.device() == device) return;
  throw std::invalid_argument(std::string(name) + " is on " + device_text(tensor.device()) +
                              ", the other tensors on " + device_text(device));
}

void expect_same(const Tensor& tensor, const char* name, const Tensor& other,
                 const char* other_name) {
  if (!std::ranges::equal(tensor.sizes(), other.sizes())) {
    throw std::invalid_argument(std::string(name) + " has the shape " + shape_text(tensor) + ", " +
                                other_name + " has " + shape_text(other) +
                                "; the shapes must be equal");
  }
  expect_same_dtype(tensor, name, other, other_name);
}

void expect_same_dtype(const Tensor& tensor, const char* name, const Tensor& other,
                       const char* other_name) {
  if (tensor.dtype() != other.dtype()) {
    throw std::invalid_argument(std::string(name) + " is " + dtype_text(tensor.dtype()) + ", " +
                                other_name + " is " + dtype_text(other.dtype()) +
                                "; they must have the same dtype");
  }
  expect_device(other, other_name, tensor.device());
}

Rows weight_row(const Tensor& weight, const Tensor& x, std::int64_t hidden) {
  if (weight.element_count() != hidden || weight.sizes().size() != 1) {
    throw std::invalid_argument("weight has the shape " + shape_text(weight) +
                                ", but a row of x has " + std::to_string(hidden) + " elements");
  }
  if (weight.dtype() != x.dtype() && weight.dtype() != torch_abi().aoti_torch_dtype_float32) {
    throw std::invalid_argument("x is " + dtype_text(x.dtype()) + ", weight is " +
                                dtype_text(weight.dtype()) +
                                "; weight must have x's dtype or float32");
  }
  expect_device(weight, "weight", x.device());
  return contiguous_rows_of(weight);
}

Rows rstd_rows(const Tensor& rstd, const Tensor& x, std::int64_t count) {
  if (rstd.element_count() != count || rstd.dtype() != torch_abi().aoti_torch_dtype_float32) {
    throw std::invalid_argument("rstd has the shape " + shape_text(rstd) + ", but x has " +
                                std::to_string(count) + " rows; rstd is float32");
  }
  expect_device(rstd, "rstd", x.device());
  if (rstd.sizes().empty()) {
    Rows one{1, 1, 1, rstd.data(), Tensor()};
    return one;
  }
  return contiguous_rows_of(rstd);
}

Tensor rstd_of(const Tensor& x) {
  return Tensor::empty(x.sizes().first(x.sizes().size() - 1), torch_abi().aoti_torch_dtype_float32,
                       x.device());
}

Tensor dw_of(const Tensor& weight, bool is_needed) {
  const std::array<std::int64_t, 1> nothing{0};
  return Tensor::empty(is_needed ? weight.sizes() : std::span<const std::int64_t>(nothing),
                       weight.dtype(), weight.device());
}

}  // namespace mgtune::torch
