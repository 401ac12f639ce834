// swiglu and its gradient: y = gate * sigmoid(gate) * up, element by element. In the packed form a
// row holds its gates, and behind them as many ups.

#include <array>
#include <stdexcept>
#include <vector>

#include "arguments.h"
#include "launch.h"
#include "operators.h"

namespace mgtune::torch {
namespace {

constexpr OperatorNames kSwiglu{"swiglu.forward", false, nullptr, {"gate_stride", "up_stride"}};
constexpr OperatorNames kSwigluBackward{
    "swiglu.backward", false, nullptr, {"dy_stride", "gate_stride", "up_stride"}};
constexpr OperatorNames kPacked{"swiglu.packed_forward", false, nullptr, {"gate_up_stride"}};
constexpr OperatorNames kPackedBackward{
    "swiglu.packed_backward", false, nullptr, {"dy_stride", "gate_up_stride"}};

// Half the length of a packed row.
std::int64_t packed_hidden(const Tensor& gate_up, const Rows& rows) {
  if (rows.length % 2 == 0) return rows.length / 2;
  throw std::invalid_argument("gate_up has the shape " + shape_text(gate_up) +
                              "; its last dim holds gates and ups, so it must be even");
}

}  // namespace

void swiglu(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  const Tensor gate = take_tensor(stack[0]);
  const Tensor up = take_tensor(stack[1]);
  expect_same(gate, "gate", up, "up");
  const Rows gates = rows_of(gate);
  const Rows ups = rows_of(up);
  const DeviceKey device = gate.device();
  Tensor y = Tensor::empty(gate.sizes(), gate.dtype(), device);
  if (gates.count > 0 && gates.length > 0) {
    const PlanKey key{
        &kSwiglu, device,      gate.dtype(), 0,
        false,    gates.count, gates.length, {gates.stride_dim(), ups.stride_dim(), -1}};
    const std::array dims{gates.count, gates.length, gates.stride_dim(), ups.stride_dim()};
    const std::array tensors{gates.data, ups.data, y.data()};
    const DeviceScope scope(device);
    launch(key, scope, dims, tensors, {});
  }
  stack[0] = give(std::move(y));
}

// (dy, gate, up) -> (dgate, dup)
void swiglu_backward(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  const Tensor dy = take_tensor(stack[0]);
  const Tensor gate = take_tensor(stack[1]);
  const Tensor up = take_tensor(stack[2]);
  expect_same(gate, "gate", up, "up");
  expect_same(gate, "gate", dy, "dy");
  const Rows gradient = rows_of(dy);
  const Rows gates = rows_of(gate);
  const Rows ups = rows_of(up);
  const DeviceKey device = gate.device();
  Tensor dgate = Tensor::empty(gate.sizes(), gate.dtype(), device);
  Tensor dup = Tensor::empty(gate.sizes(), gate.dtype(), device);
  if (gates.count > 0 && gates.length > 0) {
    const std::array strides{gradient.stride_dim(), gates.stride_dim(), ups.stride_dim()};
    const PlanKey key{&kSwigluBackward, device,       gate.dtype(), 0, false,
                      gates.count,      gates.length, strides};
    const std::array dims{gates.count, gates.length, strides[0], strides[1], strides[2]};
    const std::array tensors{gradient.data, gates.data, ups.data, dgate.data(), dup.data()};
    const DeviceScope scope(device);
    launch(key, scope, dims, tensors, {});
  }
  stack[0] = give(std::move(dgate));
  stack[1] = give(std::move(dup));
}

void swiglu_packed(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  const Tensor gate_up = take_tensor(stack[0]);
  const Rows rows = rows_of(gate_up);
  const std::int64_t hidden = packed_hidden(gate_up, rows);
  const DeviceKey device = gate_up.device();
  std::vector<std::int64_t> sizes(gate_up.sizes().begin(), gate_up.sizes().end());
  sizes.back() = hidden;
  Tensor y = Tensor::empty(sizes, gate_up.dtype(), device);
  if (rows.count > 0 && hidden > 0) {
    const PlanKey key{&kPacked, device,     gate_up.dtype(), 0,
                      false,    rows.count, hidden,          {rows.stride_dim(), -1, -1}};
    const std::array dims{rows.count, hidden, rows.stride_dim()};
    const std::array tensors{rows.data, y.data()};
    const DeviceScope scope(device);
    launch(key, scope, dims, tensors, {});
  }
  stack[0] = give(std::move(y));
}

// (dy, gate_up) -> dgate_up
void swiglu_packed_backward(StackValue* stack, std::uint64_t /*inputs*/,
                            std::uint64_t /*outputs*/) {
  const Tensor dy = take_tensor(stack[0]);
  const Tensor gate_up = take_tensor(stack[1]);
  const Rows rows = rows_of(gate_up);
  const Rows gradient = rows_of(dy);
  const std::int64_t hidden = packed_hidden(gate_up, rows);
  const DeviceKey device = gate_up.device();
  expect_device(dy, "dy", device);
  if (gradient.count != rows.count || gradient.length != hidden || dy.dtype() != gate_up.dtype()) {
    throw std::invalid_argument("dy has the shape " + shape_text(dy) + ", gate_up has " +
                                shape_text(gate_up) +
                                "; dy must have half as many columns and the same dtype");
  }
  Tensor dgate_up = Tensor::empty(gate_up.sizes(), gate_up.dtype(), device);
  if (rows.count > 0 && hidden > 0) {
    const std::array strides{gradient.stride_dim(), rows.stride_dim(), std::int64_t{-1}};
    const PlanKey key{&kPackedBackward, device, gate_up.dtype(), 0, false,
                      rows.count,       hidden, strides};
    const std::array dims{rows.count, hidden, strides[0], strides[1]};
    const std::array tensors{gradient.data, rows.data, dgate_up.data()};
    const DeviceScope scope(device);
    launch(key, scope, dims, tensors, {});
  }
  stack[0] = give(std::move(dgate_up));
}

}  // namespace mgtune::torch
