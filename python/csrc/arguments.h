// Checks of arguments that several operators share. All of them throw std::invalid_argument, which
// Python sees as ValueError, with both shapes or devices in the message.
#pragma once

#include <string>

#include "rows.h"
#include "tensor.h"

namespace mgtune::torch {

// "(4, 16)"
std::string shape_text(const Tensor& tensor);

// `other` has the shape, the dtype and the device of `tensor`. The names are those of the schema.
void expect_same(const Tensor& tensor, const char* name, const Tensor& other,
                 const char* other_name);

// `other` has the dtype and the device of `tensor`.
void expect_same_dtype(const Tensor& tensor, const char* name, const Tensor& other,
                       const char* other_name);

// `tensor` is on this device.
void expect_device(const Tensor& tensor, const char* name, DeviceKey device);

// A weight: one element for each element of a row of x, on the same device, of x's dtype or
// float32.
Rows weight_row(const Tensor& weight, const Tensor& x, std::int64_t hidden);

// The factors 1 / sqrt(mean(x^2) + eps) that the forward pass left: float32, one for each row of x.
Rows rstd_rows(const Tensor& rstd, const Tensor& x, std::int64_t count);

// A new tensor for these factors: float32, of x's shape without its last dim.
Tensor rstd_of(const Tensor& x);

// A new tensor for the gradient of the weight; one without elements if it is not needed.
Tensor dw_of(const Tensor& weight, bool is_needed);

}  // namespace mgtune::torch
