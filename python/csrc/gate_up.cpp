// swiglu_gate_up: h = silu(x gate_weight^T) * (x up_weight^T), both products and SwiGLU in one
// kernel. In the packed form one weight holds the rows of the gate, and behind them as many of up.
// The forms with products also return gate and up side by side, as swiglu_packed_backward reads
// them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "dtype.h"
#include "launch.h"
#include "operators.h"

namespace mgtune::torch {
namespace {

constexpr const char* kGateUp = "swiglu.gate_up";
constexpr std::int64_t kElementBytes = 2;         // of float16 and bfloat16
constexpr std::int64_t kColumnUnit = 8;           // of dims and distances between rows: 16 bytes
constexpr std::int64_t kMostHidden = 4194304;     // what swiglu.gate_up takes
constexpr std::int64_t kMostColumns = 1LL << 29;  // of x, exclusive; its rows likewise

// The matrices of a call. Copies of tensors that the kernels cannot read live in `copies`.
struct GateUpCall {
  std::int64_t m = 0;  // rows of x
  std::int64_t n = 0;  // rows of each weight
  std::int64_t k = 0;  // columns of all three
  void* x = nullptr;
  void* gate_weight = nullptr;
  void* up_weight = nullptr;
  std::array<std::int64_t, 3> strides{};  // between the rows of these three; -1: k
  std::array<Tensor, 3> copies;
};

void expect_half(const Tensor& x) {
  const TorchAbi& abi = torch_abi();
  if (x.dtype() == abi.aoti_torch_dtype_float16 || x.dtype() == abi.aoti_torch_dtype_bfloat16) {
    return;
  }
  throw std::invalid_argument(
      "mgtune's swiglu_gate_up has kernels for float16 and bfloat16, but x is " +
      dtype_text(x.dtype()));
}

// A weight that fits x. `name` is that of the schema.
void expect_weight(const Tensor& weight, const char* name, const Tensor& x) {
  if (weight.sizes().size() != 2 || x.sizes().empty() || weight.sizes()[1] != x.sizes().back()) {
    throw std::invalid_argument("x has the shape " + shape_text(x) + ", " + name + " has " +
                                shape_text(weight) +
                                "; a weight has two dims, and the second one is the last dim of x");
  }
  if (weight.dtype() != x.dtype()) {
    throw std::invalid_argument("x is " + dtype_text(x.dtype()) + ", " + name + " is " +
                                dtype_text(weight.dtype()) + "; they must have the same dtype");
  }
  expect_device(weight, name, x.device());
}

void expect_units(const GateUpCall& call) {
  if (call.n % kColumnUnit == 0 && call.k % kColumnUnit == 0 && call.n <= kMostHidden &&
      call.k < kMostColumns && call.m < kMostColumns) {
    return;
  }
  throw std::invalid_argument("x has " + std::to_string(call.m) + " rows of " +
                              std::to_string(call.k) + " and each weight has " +
                              std::to_string(call.n) +
                              " rows; the kernels of swiglu_gate_up take multiples of 8 for the "
                              "length of a row and for the "
                              "rows of a weight, at most 4194304 rows of a weight, and less than "
                              "2^29 rows of x and elements "
                              "of a row");
}

// The rows of a tensor that the kernels can read: aligned to 16 bytes, at distances of multiples of
// 8 elements. All others are copied.
Rows aligned_rows(const Tensor& tensor) {
  Rows rows = rows_of(tensor);
  const auto address = reinterpret_cast<std::uintptr_t>(rows.data);
  if (rows.stride % kColumnUnit != 0 || address % (kColumnUnit * kElementBytes) != 0) {
    rows.copy = tensor.contiguous_copy();
    rows.data = rows.copy.data();
    rows.stride = rows.length;
  }
  return rows;
}

void place(GateUpCall& call, std::size_t index, void*& data, Rows&& rows) {
  data = rows.data;
  call.strides[index] = rows.stride_dim();
  call.copies[index] = std::move(rows.copy);
}

// The call of (x, gate_weight, up_weight), or of (x, gate_up_weight).
GateUpCall take_call(const Tensor& x, const Tensor& weight, const Tensor* up_weight) {
  expect_half(x);
  expect_weight(weight, up_weight == nullptr ? "gate_up_weight" : "gate_weight", x);
  GateUpCall call;
  call.n = weight.sizes()[0];
  call.k = weight.sizes()[1];
  if (up_weight != nullptr) {
    expect_same(weight, "gate_weight", *up_weight, "up_weight");
  } else if (call.n % 2 != 0) {
    throw std::invalid_argument("gate_up_weight has the shape " + shape_text(weight) +
                                "; it holds the rows of gate and up, so their number must be even");
  } else {
    call.n /= 2;
  }
  Rows rows = aligned_rows(x);
  call.m = rows.count;
  expect_units(call);
  place(call, 0, call.x, std::move(rows));
  place(call, 1, call.gate_weight, aligned_rows(weight));
  if (up_weight != nullptr) {
    place(call, 2, call.up_weight, aligned_rows(*up_weight));
  } else {
    const std::int64_t stride = call.strides[1] == -1 ? call.k : call.strides[1];
    call.strides[2] = call.strides[1];
    call.up_weight = static_cast<std::byte*>(call.gate_weight) + call.n * stride * kElementBytes;
  }
  return call;
}

PlanWords gate_up_words(const GateUpCall& call, const Tensor& x, bool has_products) {
  return {reinterpret_cast<std::uintptr_t>(&kGateUp),
          device_word(x.device()),
          static_cast<std::uint64_t>(x.dtype()) << 32U | (has_products ? 1U : 0U),
          octave_of(call.m),
          static_cast<std::uint64_t>(call.n) << 32U | static_cast<std::uint64_t>(call.k),
          static_cast<std::uint64_t>(call.strides[0]),
          static_cast<std::uint64_t>(call.strides[1]),
          static_cast<std::uint64_t>(call.strides[2])};
}

PlanDescription describe_gate_up(const GateUpCall& call, const Tensor& x, bool has_products) {
  PlanDescription description{
      kGateUp,
      {{"T", dtype_name(x.dtype())}},
      {octave_range("m", call.m), {"n", call.n, call.n}, {"k", call.k, call.k}},
      std::to_string(call.m) + " rows of " + std::to_string(call.k) + " and weights of " +
          std::to_string(call.n) + " rows"};
  static constexpr std::array kStrideDims{"x_stride", "gate_w_stride", "up_w_stride"};
  for (std::size_t i = 0; i < kStrideDims.size(); ++i) {
    if (call.strides[i] == -1) continue;
    description.ranges.push_back({kStrideDims[i], call.strides[i], call.strides[i]});
  }
  if (has_products) {
    for (const char* product : {"gate", "up"})
      description.assignments.emplace_back(product, "true");
    description.ranges.push_back({"gate_stride", 2 * call.n, 2 * call.n});
    description.ranges.push_back({"up_stride", 2 * call.n, 2 * call.n});
  }
  return description;
}

// A new tensor of x's shape with another last dim.
Tensor empty_rows(const Tensor& x, std::int64_t length) {
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = length;
  return Tensor::empty(sizes, x.dtype(), x.device());
}

// (x, gate_weight, up_weight) or (x, gate_up_weight) -> h, or (h, gate_up)
void run_gate_up(StackValue* stack, bool is_packed, bool has_products) {
  const Tensor x = take_tensor(stack[0]);
  const Tensor weight = take_tensor(stack[1]);
  const Tensor up_weight = is_packed ? Tensor() : take_tensor(stack[2]);
  const GateUpCall call = take_call(x, weight, is_packed ? nullptr : &up_weight);
  Tensor h = empty_rows(x, call.n);
  Tensor products = has_products ? empty_rows(x, 2 * call.n) : Tensor();
  if (call.k == 0) {  // sums of nothing
    h.fill_with_zero();
    if (has_products) products.fill_with_zero();
  } else if (call.m > 0 && call.n > 0) {
    auto* const gate = has_products ? static_cast<std::byte*>(products.data()) : nullptr;
    std::byte* const up = has_products ? gate + call.n * kElementBytes : nullptr;
    const std::int64_t product_stride = has_products ? 2 * call.n : -1;
    const std::array dims{call.m,           call.n,          call.k,
                          call.strides[0],  call.strides[1], call.strides[2],
                          std::int64_t{-1}, product_stride,  product_stride};
    const std::array<void*, 6> tensors{call.x, call.gate_weight, call.up_weight, h.data(), gate,
                                       up};
    const DeviceScope scope(x.device());
    const mgr_plan_t* const plan = find_plan(
        gate_up_words(call, x, has_products), x.device(),
        [&] { return describe_gate_up(call, x, has_products); }, scope.stream());
    launch(plan, x.device(), scope, dims, tensors, {});
  }
  stack[0] = give(std::move(h));
  if (has_products) stack[1] = give(std::move(products));
}

}  // namespace

void swiglu_gate_up(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  run_gate_up(stack, false, false);
}

void swiglu_gate_up_with_products(StackValue* stack, std::uint64_t /*inputs*/,
                                  std::uint64_t /*outputs*/) {
  run_gate_up(stack, false, true);
}

void swiglu_gate_up_packed(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  run_gate_up(stack, true, false);
}

void swiglu_gate_up_packed_with_products(StackValue* stack, std::uint64_t /*inputs*/,
                                         std::uint64_t /*outputs*/) {
  run_gate_up(stack, true, true);
}

}  // namespace mgtune::torch
