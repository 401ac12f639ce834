// rms_norm and its gradient: y = x / sqrt(mean(x^2) + eps) * (weight + weight_offset) for each row.

#include <array>

#include "arguments.h"
#include "launch.h"
#include "operators.h"

namespace mgtune::torch {
namespace {

constexpr OperatorNames kNorm{"rmsnorm.forward", true, "rstd", {"x_stride"}};
constexpr OperatorNames kNormBackward{"rmsnorm.backward", true, "dw", {"x_stride"}};

struct Norm {
  Tensor y;
  Tensor rstd;  // empty if it was not asked for
};

Norm norm_forward(StackValue* stack, bool has_rstd) {
  const Tensor x = take_tensor(stack[0]);
  const Tensor weight = take_tensor(stack[1]);
  const std::array scalars{take_double(stack[2]), take_double(stack[3])};
  const Rows rows = rows_of(x);
  const Rows weights = weight_row(weight, x, rows.length);
  const DeviceKey device = x.device();

  Norm result;
  result.y = Tensor::empty(x.sizes(), x.dtype(), device);
  if (has_rstd) {
    result.rstd = Tensor::empty(x.sizes().first(x.sizes().size() - 1),
                                torch_abi().aoti_torch_dtype_float32, device);
  }
  if (rows.count == 0) return result;
  const PlanKey key{&kNorm,   device,     x.dtype(),   weight.dtype(),
                    has_rstd, rows.count, rows.length, {rows.stride_dim(), -1, -1}};
  const std::array dims{rows.count, rows.stride_dim()};
  const std::array tensors{rows.data, weights.data, result.y.data(),
                           has_rstd ? result.rstd.data() : nullptr};
  const DeviceScope scope(device);
  launch(key, scope, dims, tensors, scalars);
  return result;
}

}  // namespace

void rms_norm(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  stack[0] = give(norm_forward(stack, false).y);
}

void rms_norm_with_rstd(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  Norm result = norm_forward(stack, true);
  stack[0] = give(std::move(result.y));
  stack[1] = give(std::move(result.rstd));
}

// (dy, x, weight, rstd, weight_offset, needs_dw) -> (dx, dw)
void rms_norm_backward(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  const Tensor dy = take_tensor(stack[0]);
  const Tensor x = take_tensor(stack[1]);
  const Tensor weight = take_tensor(stack[2]);
  const Tensor rstd = take_tensor(stack[3]);
  const std::array scalars{take_double(stack[4])};
  const bool needs_dw = take_bool(stack[5]);
  expect_same(x, "x", dy, "dy");
  const Rows rows = rows_of(x);
  const Rows gradient = contiguous_rows_of(dy);
  const Rows weights = weight_row(weight, x, rows.length);
  const DeviceKey device = x.device();
  const Rows factors = rstd_rows(rstd, x, rows.count);

  Tensor dx = Tensor::empty(x.sizes(), x.dtype(), device);
  Tensor dw = dw_of(weight, needs_dw);
  if (rows.count > 0) {
    const PlanKey key{&kNormBackward, device,     x.dtype(),   weight.dtype(),
                      needs_dw,       rows.count, rows.length, {rows.stride_dim(), -1, -1}};
    const std::array dims{rows.count, rows.stride_dim()};
    const std::array tensors{gradient.data, rows.data, weights.data,
                             factors.data,  dx.data(), needs_dw ? dw.data() : nullptr};
    const DeviceScope scope(device);
    launch(key, scope, dims, tensors, scalars);
  } else if (needs_dw) {
    dw.fill_with_zero();
  }
  stack[0] = give(std::move(dx));
  stack[1] = give(std::move(dw));
}

}  // namespace mgtune::torch
