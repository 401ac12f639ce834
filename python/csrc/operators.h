// The operators' functions, as PyTorch calls them: see python/README.md for their schemas.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor.h"
#include "torch_abi.h"

namespace mgtune::torch {

// Takes an argument from the stack.
inline Tensor take_tensor(StackValue value) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the interface passes handles as integers
  return Tensor(reinterpret_cast<TensorHandle>(value));
}
inline double take_double(StackValue value) { return std::bit_cast<double>(value); }
inline std::int64_t take_int(StackValue value) { return static_cast<std::int64_t>(value); }
inline bool take_bool(StackValue value) { return (value & 0xffU) != 0; }
// Leaves a result on the stack.
inline StackValue give(Tensor&& tensor) { return reinterpret_cast<StackValue>(tensor.release()); }

// rms_norm.cpp
void rms_norm(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void rms_norm_with_rstd(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void rms_norm_backward(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void add_rms_norm(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void add_rms_norm_with_rstd(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void add_rms_norm_backward(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);

// swiglu.cpp
void swiglu(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void swiglu_backward(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void swiglu_packed(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void swiglu_packed_backward(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);

// gate_up.cpp
void swiglu_gate_up(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void swiglu_gate_up_with_products(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void swiglu_gate_up_packed(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void swiglu_gate_up_packed_with_products(StackValue* stack, std::uint64_t inputs,
                                         std::uint64_t outputs);

// attention.cpp
void attention(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void attention_with_lse(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void attention_varlen(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void attention_decode(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);
void attention_decode_paged(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);

// attention_backward.cpp
void attention_backward(StackValue* stack, std::uint64_t inputs, std::uint64_t outputs);

}  // namespace mgtune::torch
