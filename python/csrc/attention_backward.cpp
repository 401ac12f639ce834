// attention_backward: the gradients of attention for q, k and v.

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "arguments.h"
#include "attention_arguments.h"
#include "launch.h"
#include "operators.h"

namespace mgtune::torch {
namespace {

constexpr const char* kBackward = "attention.backward";

void expect_gradient(const HeadSizes& sizes) {
  if (sizes.head_dim == 64 || sizes.head_dim == 128) return;
  throw std::invalid_argument("the head_dim is " + std::to_string(sizes.head_dim) +
                              "; attention_backward has kernels for 64 and 128");
}

}  // namespace

// (dout, q, k, v, o, lse, scale, causal) -> (dq, dk, dv)
void attention_backward(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  const Tensor dout = take_tensor(stack[0]);
  const Tensor q = take_tensor(stack[1]);
  const Tensor k = take_tensor(stack[2]);
  const Tensor v = take_tensor(stack[3]);
  const Tensor o = take_tensor(stack[4]);
  const Tensor lse = take_tensor(stack[5]);
  const AttentionOptions options{take_double(stack[6]), take_bool(stack[7])};
  const HeadSizes sizes = check_heads(q, k, v, 4, Values::as_wide_as_keys);
  expect_gradient(sizes);
  expect_same(q, "q", o, "o");
  expect_same(q, "q", dout, "dout");
  const std::int64_t batch = q.sizes()[0];
  const std::int64_t rows = q.sizes()[2];
  const std::int64_t keys_count = k.sizes()[2];
  if (k.sizes()[0] != batch) {
    throw std::invalid_argument("q has the shape " + shape_text(q) + ", k has " + shape_text(k) +
                                "; the batches must be equal");
  }
  Tensor lse_copy;
  void* const sums =
      plain_data(lse, "lse", torch_abi().aoti_torch_dtype_float32, q.sizes().first(3), q, lse_copy);
  Tensor dq = empty_heads(q, sizes.head_dim);
  Tensor dk = empty_heads(k, sizes.head_dim);
  Tensor dv = empty_heads(v, sizes.head_dim);
  if (batch == 0 || rows == 0 || keys_count == 0 || sizes.heads == 0) {
    for (Tensor* const gradient : {&dq, &dk, &dv}) gradient->fill_with_zero();
  } else {
    const std::array<const Tensor*, 5> inputs{&q, &k, &v, &o, &dout};
    const std::array<const Tensor*, 3> outputs{&dq, &dk, &dv};
    std::array<std::int64_t, 5 + 3 * 8> dims{batch, rows, keys_count, sizes.heads, sizes.kv_heads};
    std::array<HeadsTensor, 5> read;
    std::array<void*, 9> tensors{};
    std::size_t dim = 5;
    const auto add_strides = [&](const HeadsTensor& tensor) {
      dims[dim++] = tensor.batch_stride;
      dims[dim++] = tensor.row_stride;
      dims[dim++] = tensor.head_stride;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      read[i] = heads_tensor(*inputs[i]);
      add_strides(read[i]);
      tensors[i] = read[i].data;
    }
    tensors[5] = sums;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const HeadsTensor written = heads_tensor(*outputs[i]);
      add_strides(written);
      tensors[6 + i] = written.data;
    }
    const std::array scalars{options.scale};
    const DeviceScope scope(q.device());
    PlanWords words = attention_words(&kBackward, q, sizes, options);
    words[5] = octave_of(batch);
    words[6] = octave_of(rows);
    words[7] = octave_of(keys_count);
    const mgr_plan_t* const plan = find_plan(
        words, q.device(),
        [&] {
          PlanDescription description = attention_description(kBackward, q, sizes, options);
          description.ranges.push_back(octave_range("batch", batch));
          description.ranges.push_back(octave_range("seq_q", rows));
          description.ranges.push_back(octave_range("seq_k", keys_count));
          description.shape += " and k of shape " + shape_text(k);
          return description;
        },
        scope.stream());
    launch(plan, q.device(), scope, dims, tensors, scalars);
  }
  stack[0] = give(std::move(dq));
  stack[1] = give(std::move(dk));
  stack[2] = give(std::move(dv));
}

}  // namespace mgtune::torch
