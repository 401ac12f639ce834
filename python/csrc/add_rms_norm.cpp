// add_rms_norm and its gradient: s = x + residual, rounded to their dtype, and
// y = s / sqrt(mean(s^2) + eps) * (weight + weight_offset) for each row.

#include <array>

#include "arguments.h"
#include "launch.h"
#include "operators.h"

namespace mgtune::torch {
namespace {

constexpr OperatorNames kAddNorm{"rmsnorm.add_forward", true, "rstd", {"x_stride"}};
constexpr OperatorNames kAddNormBackward{"rmsnorm.add_backward", true, "dw", {"s_stride"}};

struct AddedNorm {
  Tensor y;
  Tensor s;
  Tensor rstd;  // empty if it was not asked for
};

AddedNorm add_forward(StackValue* stack, bool has_rstd) {
  const Tensor x = take_tensor(stack[0]);
  const Tensor residual = take_tensor(stack[1]);
  const Tensor weight = take_tensor(stack[2]);
  const std::array scalars{take_double(stack[3]), take_double(stack[4])};
  expect_same(x, "x", residual, "residual");
  const Rows rows = rows_of(x);
  const Rows residuals = contiguous_rows_of(residual);
  const Rows weights = weight_row(weight, x, rows.length);
  const DeviceKey device = x.device();

  AddedNorm result;
  result.y = Tensor::empty(x.sizes(), x.dtype(), device);
  result.s = Tensor::empty(x.sizes(), x.dtype(), device);
  if (has_rstd) {
    result.rstd = Tensor::empty(x.sizes().first(x.sizes().size() - 1),
                                torch_abi().aoti_torch_dtype_float32, device);
  }
  if (rows.count == 0) return result;
  const PlanKey key{&kAddNorm, device,     x.dtype(),   weight.dtype(),
                    has_rstd,  rows.count, rows.length, {rows.stride_dim(), -1, -1}};
  const std::array dims{rows.count, rows.stride_dim()};
  const std::array tensors{rows.data,       residuals.data,
                           weights.data,    result.y.data(),
                           result.s.data(), has_rstd ? result.rstd.data() : nullptr};
  const DeviceScope scope(device);
  launch(key, scope, dims, tensors, scalars);
  return result;
}

}  // namespace

void add_rms_norm(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  AddedNorm result = add_forward(stack, false);
  stack[0] = give(std::move(result.y));
  stack[1] = give(std::move(result.s));
}

void add_rms_norm_with_rstd(StackValue* stack, std::uint64_t /*inputs*/,
                            std::uint64_t /*outputs*/) {
  AddedNorm result = add_forward(stack, true);
  stack[0] = give(std::move(result.y));
  stack[1] = give(std::move(result.s));
  stack[2] = give(std::move(result.rstd));
}

// (dy, ds, s, weight, rstd, weight_offset, needs_dw) -> (dx, dw)
void add_rms_norm_backward(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  const Tensor dy = take_tensor(stack[0]);
  const Tensor ds = take_tensor(stack[1]);
  const Tensor s = take_tensor(stack[2]);
  const Tensor weight = take_tensor(stack[3]);
  const Tensor rstd = take_tensor(stack[4]);
  const std::array scalars{take_double(stack[5])};
  const bool needs_dw = take_bool(stack[6]);
  expect_same(s, "s", dy, "dy");
  expect_same(s, "s", ds, "ds");
  const Rows rows = rows_of(s);
  const Rows gradient = contiguous_rows_of(dy);
  const Rows residual_gradient = contiguous_rows_of(ds);
  const Rows weights = weight_row(weight, s, rows.length);
  const DeviceKey device = s.device();
  const Rows factors = rstd_rows(rstd, s, rows.count);

  Tensor dx = Tensor::empty(s.sizes(), s.dtype(), device);
  Tensor dw = dw_of(weight, needs_dw);
  if (rows.count > 0) {
    const PlanKey key{&kAddNormBackward, device,     s.dtype(),   weight.dtype(),
                      needs_dw,          rows.count, rows.length, {rows.stride_dim(), -1, -1}};
    const std::array dims{rows.count, rows.stride_dim()};
    const std::array tensors{gradient.data,
                             rows.data,
                             weights.data,
                             factors.data,
                             residual_gradient.data,
                             dx.data(),
                             needs_dw ? dw.data() : nullptr};
    const DeviceScope scope(device);
    launch(key, scope, dims, tensors, scalars);
  } else if (needs_dw) {
    dw.fill_with_zero();
  }
  stack[0] = give(std::move(dx));
  stack[1] = give(std::move(dw));
}

}  // namespace mgtune::torch
