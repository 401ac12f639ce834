#include "attention_arguments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "arguments.h"
#include "dtype.h"

namespace mgtune::torch {
namespace {

constexpr std::array<std::int64_t, 4> kHeadDims{64, 96, 128, 256};
constexpr std::int64_t kLatentHeadDim = 192;   // of multi-head latent attention, which has
constexpr std::int64_t kLatentValueDim = 128;  // narrower values
constexpr std::int64_t kStrideUnit = 8;        // elements: 16 bytes
constexpr std::uintptr_t kPointerUnit = 16;    // bytes
constexpr std::int64_t kLongest = 536870912;   // kernels have lengths and windows below 2^29

std::string layout_text(std::size_t dims) {
  return dims == 4 ? "(batch, heads, rows, head_dim)" : "(tokens, heads, head_dim)";
}

void expect_dims(const Tensor& tensor, const char* name, std::size_t dims) {
  if (tensor.sizes().size() == dims) return;
  throw std::invalid_argument(std::string(name) + " has the shape " + shape_text(tensor) +
                              "; it must be " + layout_text(dims));
}

// The values of keys of 192 elements have 128.
void expect_latent(const Tensor& k, const Tensor& v) {
  const std::size_t others = k.sizes().size() - 1;
  if (v.sizes().back() != kLatentValueDim ||
      !std::ranges::equal(k.sizes().first(others), v.sizes().first(others))) {
    throw std::invalid_argument("k has the shape " + shape_text(k) + ", v has " + shape_text(v) +
                                "; the kernels have head_dim 192 with values of 128, and the other "
                                "dims of k and v must be equal");
  }
  expect_same_dtype(k, "k", v, "v");
}

void expect_dtype(const Tensor& q) {
  const TorchAbi& abi = torch_abi();
  if (q.dtype() == abi.aoti_torch_dtype_float16 || q.dtype() == abi.aoti_torch_dtype_bfloat16) {
    return;
  }
  throw std::invalid_argument("mgtune's attention has kernels for float16 and bfloat16, but q is " +
                              dtype_text(q.dtype()));
}

}  // namespace

AttentionOptions take_options(StackValue scale, const StackValue* causal) {
  const AttentionOptions options{take_double(scale), take_bool(causal[0]), take_int(causal[1]),
                                 take_double(causal[2])};
  if (!std::isfinite(options.scale) || options.scale <= 0) {
    throw std::invalid_argument("scale is " + std::to_string(options.scale) +
                                "; it must be positive");
  }
  if (options.window < -1 || options.window >= kLongest) {
    throw std::invalid_argument("window is " + std::to_string(options.window) +
                                "; it must be a number of keys below 2^29, or -1 for no window");
  }
  if (!std::isfinite(options.softcap) || options.softcap < 0) {
    throw std::invalid_argument("softcap is " + std::to_string(options.softcap) +
                                "; it must be positive, or 0 for no cap");
  }
  return options;
}

HeadSizes check_heads(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t dims,
                      Values values) {
  expect_dims(q, "q", dims);
  expect_dims(k, "k", dims);
  expect_dims(v, "v", dims);
  const bool is_latent =
      values == Values::of_multi_head_latent_attention && k.sizes().back() == kLatentHeadDim;
  if (is_latent) {
    expect_latent(k, v);
  } else {
    expect_same(k, "k", v, "v");
  }
  expect_dtype(q);
  if (q.dtype() != k.dtype()) {
    throw std::invalid_argument("q is " + dtype_text(q.dtype()) + ", k is " +
                                dtype_text(k.dtype()) + "; they must have the same dtype");
  }
  expect_device(k, "k", q.device());
  const HeadSizes sizes{q.sizes()[1], k.sizes()[1], q.sizes().back(), v.sizes().back()};
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("q has the shape " + shape_text(q) + ", k has " + shape_text(k) +
                                "; " + why);
  };
  if (k.sizes().back() != sizes.head_dim) refuse("the last dim, head_dim, must be equal");
  if (!is_latent && std::ranges::find(kHeadDims, sizes.head_dim) == kHeadDims.end()) {
    refuse(values == Values::as_wide_as_keys
               ? "the kernels have head_dim 64, 96, 128 and 256"
               : "the kernels have head_dim 64, 96, 128 and 256, and 192 with values of 128");
  }
  if (sizes.kv_heads < 1 || sizes.heads % sizes.kv_heads != 0) {
    refuse("q's number of heads must be a multiple of k's");
  }
  return sizes;
}

HeadsTensor heads_tensor(const Tensor& tensor) {
  const auto can_read = [](const Tensor& one) {
    if (reinterpret_cast<std::uintptr_t>(one.data()) % kPointerUnit != 0) return false;
    const std::span<const std::int64_t> sizes = one.sizes();
    const std::span<const std::int64_t> strides = one.strides();
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      if (sizes[i] > 1 && strides[i] % kStrideUnit != 0) return false;
    }
    return strides.back() == 1;
  };
  HeadsTensor heads;
  if (!can_read(tensor)) heads.copy = tensor.contiguous_copy();
  const Tensor& read = heads.copy.get() == nullptr ? tensor : heads.copy;
  heads.data = read.data();
  const auto stride = [&](std::size_t i) {
    return read.sizes()[i] > 1 ? read.strides()[i] : std::int64_t{-1};
  };
  const bool has_batch = read.sizes().size() == 4;
  if (has_batch) heads.batch_stride = stride(0);
  heads.head_stride = stride(1);
  heads.row_stride = stride(has_batch ? 2 : 0);
  return heads;
}

Tensor empty_heads(const Tensor& tensor, std::int64_t columns) {
  const std::span<const std::int64_t> from = tensor.sizes();
  const std::array sizes{from[0], from[1], from[2], columns};
  const std::int64_t row = sizes[1] * columns;
  const std::array strides{std::max<std::int64_t>(sizes[2], 1) * row, columns, row,
                           std::int64_t{1}};
  return Tensor::empty_strided(sizes, strides, tensor.dtype(), tensor.device());
}

void* int_data(const Tensor& tensor, const char* name, std::span<const std::int64_t> sizes,
               const Tensor& q, Tensor& copy) {
  return plain_data(tensor, name, torch_abi().aoti_torch_dtype_int32, sizes, q, copy);
}

void* plain_data(const Tensor& tensor, const char* name, std::int32_t dtype,
                 std::span<const std::int64_t> sizes, const Tensor& q, Tensor& copy) {
  if (!std::ranges::equal(tensor.sizes(), sizes) || tensor.dtype() != dtype) {
    std::string text;
    for (const std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
    throw std::invalid_argument(std::string(name) + " has the shape " + shape_text(tensor) +
                                " and is " + dtype_text(tensor.dtype()) + "; it must be " +
                                dtype_text(dtype) + " of shape (" + text + ")");
  }
  expect_device(tensor, name, q.device());
  std::int64_t expected = 1;
  bool is_contiguous = true;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    is_contiguous &= sizes[i] <= 1 || tensor.strides()[i] == expected;
    expected *= sizes[i];
  }
  if (is_contiguous) return tensor.data();
  copy = tensor.contiguous_copy();
  return copy.data();
}

PlanWords attention_words(const char* const* op, const Tensor& q, const HeadSizes& sizes,
                          const AttentionOptions& options) {
  const std::uint64_t flags = (options.causal ? 1U : 0U) | (options.is_capped() ? 2U : 0U) |
                              (options.is_windowed() ? 4U + (octave_of(options.window) << 3U) : 0U);
  return {
      reinterpret_cast<std::uintptr_t>(op), device_word(q.device()),
      static_cast<std::uint64_t>(q.dtype()) << 32U | static_cast<std::uint64_t>(sizes.head_dim),
      static_cast<std::uint64_t>(sizes.heads) << 32U | static_cast<std::uint64_t>(sizes.kv_heads),
      flags};
}

PlanDescription attention_description(const char* op, const Tensor& q, const HeadSizes& sizes,
                                      const AttentionOptions& options) {
  PlanDescription description{
      op,
      {{"T", dtype_name(q.dtype())}, {"head_dim", std::to_string(sizes.head_dim)}},
      {{"heads", sizes.heads, sizes.heads}, {"kv_heads", sizes.kv_heads, sizes.kv_heads}},
      "q of shape " + shape_text(q)};
  if (sizes.value_dim != sizes.head_dim) {
    description.assignments.emplace_back("value_dim", std::to_string(sizes.value_dim));
  }
  if (options.causal) description.assignments.emplace_back("causal", "true");
  if (options.is_capped()) description.assignments.emplace_back("capped", "true");
  if (options.is_windowed()) {
    description.assignments.emplace_back("windowed", "true");
    description.ranges.push_back(octave_range("window", options.window));
  }
  return description;
}

}  // namespace mgtune::torch
