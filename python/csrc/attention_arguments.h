// The arguments of the attention operators: checked, and as libmgruntime takes them. Every check
// throws std::invalid_argument, which Python sees as ValueError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "operators.h"
#include "plans.h"
#include "tensor.h"

namespace mgtune::torch {

// q, k, v or o: where it is, and its distances in elements. -1 is a launch's default.
struct HeadsTensor {
  void* data = nullptr;
  std::int64_t batch_stride = -1;
  std::int64_t row_stride = -1;
  std::int64_t head_stride = -1;
  Tensor copy;  // where the elements are if the kernels cannot read the tensor itself
};

// What all attention operators are called with besides tensors.
struct AttentionOptions {
  double scale = 1;
  bool causal = false;
  std::int64_t window = -1;  // -1: none
  double softcap = 0;        // 0: none

  bool is_windowed() const { return window >= 0; }
  bool is_capped() const { return softcap > 0; }
  std::int64_t window_dim() const { return is_windowed() ? window : -1; }
  // The scalar of a launch, which is only read if logits are capped.
  double softcap_scalar() const { return is_capped() ? softcap : 1; }
};

// The options from a stack: scale, [kv_len,] causal, window, softcap. `causal` is the place of the
// second one; the others follow it.
AttentionOptions take_options(StackValue scale, const StackValue* causal);

// The sizes that all operators have. q is (batch, heads, queries, head_dim), k is (batch, kv_heads,
// keys, head_dim), and v is (batch, kv_heads, keys, value_dim). Without a batch, q is (tokens,
// heads, head_dim).
struct HeadSizes {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
};

// Which values an operator takes.
enum class Values {
  as_wide_as_keys,
  of_multi_head_latent_attention,  // also a value_dim of 128 with a head_dim of 192
};

// Checks dims, dtypes and devices of q, k and v. `dims` is 4, or 3 for packed sequences.
HeadSizes check_heads(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t dims,
                      Values values);

// A tensor of 4 dims (batch, heads, rows, head_dim) or 3 dims (rows, heads, head_dim). It is copied
// if its pointer or its strides are not those that kernels read: 16 bytes, multiples of 8 elements.
HeadsTensor heads_tensor(const Tensor& tensor);

// A tensor of this dtype (one of PyTorch's codes) that lies side by side, with these sizes, on q's
// device. `copy` gets the elements if the tensor has other strides.
void* plain_data(const Tensor& tensor, const char* name, std::int32_t dtype,
                 std::span<const std::int64_t> sizes, const Tensor& q, Tensor& copy);

// The same of int32.
void* int_data(const Tensor& tensor, const char* name, std::span<const std::int64_t> sizes,
               const Tensor& q, Tensor& copy);

// A new tensor like `tensor`, which is (batch, heads, rows, head_dim), with heads of `columns`
// elements. Its rows have all heads side by side, so that transposing it and joining the heads
// copies nothing. The fake kernels in Python say the same.
Tensor empty_heads(const Tensor& tensor, std::int64_t columns);

// The words and the description of a plan. An operator adds its own sizes to both.
PlanWords attention_words(const char* const* op, const Tensor& q, const HeadSizes& sizes,
                          const AttentionOptions& options);
PlanDescription attention_description(const char* op, const Tensor& q, const HeadSizes& sizes,
                                      const AttentionOptions& options);

}  // namespace mgtune::torch
