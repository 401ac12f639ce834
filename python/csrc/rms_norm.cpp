// rms_norm, add_rms_norm and their gradients: s = x or, with a residual, x + residual rounded to
// their dtype; y = s / sqrt(mean(s^2) + eps) * (weight + weight_offset) for each row.

#include <array>

#include "arguments.h"
#include "launch.h"
#include "operators.h"

namespace mgtune::torch {
namespace {

constexpr OperatorNames kNorm{"rmsnorm.forward", true, "rstd", {"x_stride"}};
constexpr OperatorNames kNormBackward{"rmsnorm.backward", true, "dw", {"x_stride"}};
constexpr OperatorNames kAddNorm{"rmsnorm.add_forward", true, "rstd", {"x_stride"}};
constexpr OperatorNames kAddNormBackward{"rmsnorm.add_backward", true, "dw", {"s_stride"}};

PlanKey norm_key(const OperatorNames& op, const Tensor& x, const Rows& rows, const Tensor& weight,
                 bool has_optional_tensor) {
  return {&op,
          x.device(),
          x.dtype(),
          weight.dtype(),
          has_optional_tensor,
          rows.count,
          rows.length,
          {rows.stride_dim(), -1, -1}};
}

// (x, weight, eps, weight_offset) -> (y), or (y, rstd)
void norm(StackValue* stack, bool has_rstd) {
  const Tensor x = take_tensor(stack[0]);
  const Tensor weight = take_tensor(stack[1]);
  const std::array scalars{take_double(stack[2]), take_double(stack[3])};
  const Rows rows = rows_of(x);
  const Rows weights = weight_row(weight, x, rows.length);
  Tensor y = Tensor::empty(x.sizes(), x.dtype(), x.device());
  Tensor rstd = has_rstd ? rstd_of(x) : Tensor();
  if (rows.count > 0 && rows.length > 0) {
    const std::array dims{rows.count, rows.stride_dim()};
    const std::array tensors{rows.data, weights.data, y.data(), has_rstd ? rstd.data() : nullptr};
    launch(norm_key(kNorm, x, rows, weight, has_rstd), DeviceScope(x.device()), dims, tensors,
           scalars);
  }
  stack[0] = give(std::move(y));
  if (has_rstd) stack[1] = give(std::move(rstd));
}

// (x, residual, weight, eps, weight_offset) -> (y, s), or (y, s, rstd)
void add_norm(StackValue* stack, bool has_rstd) {
  const Tensor x = take_tensor(stack[0]);
  const Tensor residual = take_tensor(stack[1]);
  const Tensor weight = take_tensor(stack[2]);
  const std::array scalars{take_double(stack[3]), take_double(stack[4])};
  expect_same(x, "x", residual, "residual");
  const Rows rows = rows_of(x);
  const Rows residuals = contiguous_rows_of(residual);
  const Rows weights = weight_row(weight, x, rows.length);
  Tensor y = Tensor::empty(x.sizes(), x.dtype(), x.device());
  Tensor s = Tensor::empty(x.sizes(), x.dtype(), x.device());
  Tensor rstd = has_rstd ? rstd_of(x) : Tensor();
  if (rows.count > 0 && rows.length > 0) {
    const std::array dims{rows.count, rows.stride_dim()};
    const std::array tensors{rows.data, residuals.data, weights.data,
                             y.data(),  s.data(),       has_rstd ? rstd.data() : nullptr};
    launch(norm_key(kAddNorm, x, rows, weight, has_rstd), DeviceScope(x.device()), dims, tensors,
           scalars);
  }
  stack[0] = give(std::move(y));
  stack[1] = give(std::move(s));
  if (has_rstd) stack[2] = give(std::move(rstd));
}

// (dy, [ds,] s, weight, rstd, weight_offset, needs_dw) -> (dx, dw)
void norm_backward(StackValue* stack, bool has_residual) {
  const Tensor dy = take_tensor(*stack);
  StackValue* next = stack + 1;
  const Tensor ds = has_residual ? take_tensor(*next++) : Tensor();
  const Tensor s = take_tensor(*next++);
  const Tensor weight = take_tensor(*next++);
  const Tensor rstd = take_tensor(*next++);
  const std::array scalars{take_double(*next++)};
  const bool needs_dw = take_bool(*next);
  expect_same(s, has_residual ? "s" : "x", dy, "dy");
  if (has_residual) expect_same(s, "s", ds, "ds");
  const Rows rows = rows_of(s);
  const Rows gradient = contiguous_rows_of(dy);
  const Rows residual_gradient = has_residual ? contiguous_rows_of(ds) : Rows();
  const Rows weights = weight_row(weight, s, rows.length);
  const Rows factors = rstd_rows(rstd, s, rows.count);

  Tensor dx = Tensor::empty(s.sizes(), s.dtype(), s.device());
  Tensor dw = dw_of(weight, needs_dw);
  if (rows.count > 0 && rows.length > 0) {
    const std::array dims{rows.count, rows.stride_dim()};
    std::array<void*, 7> tensors{gradient.data, rows.data, weights.data, factors.data};
    std::size_t count = 4;
    if (has_residual) tensors[count++] = residual_gradient.data;
    tensors[count++] = dx.data();
    tensors[count++] = needs_dw ? dw.data() : nullptr;
    const OperatorNames& op = has_residual ? kAddNormBackward : kNormBackward;
    launch(norm_key(op, s, rows, weight, needs_dw), DeviceScope(s.device()), dims,
           std::span(tensors).first(count), scalars);
  } else if (needs_dw) {
    dw.fill_with_zero();
  }
  stack[0] = give(std::move(dx));
  stack[1] = give(std::move(dw));
}

}  // namespace

void rms_norm(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  norm(stack, false);
}

void rms_norm_with_rstd(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  norm(stack, true);
}

void rms_norm_backward(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  norm_backward(stack, false);
}

void add_rms_norm(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  add_norm(stack, false);
}

void add_rms_norm_with_rstd(StackValue* stack, std::uint64_t /*inputs*/,
                            std::uint64_t /*outputs*/) {
  add_norm(stack, true);
}

void add_rms_norm_backward(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  norm_backward(stack, true);
}

}  // namespace mgtune::torch
