#include "tensors/tensor_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "expression/expression.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 62;

Result<std::vector<std::int64_t>> evaluate_all(const std::vector<Expression>& expressions,
                                               const Slots& slots, const std::string& what) {
  std::vector<std::int64_t> values;
  values.reserve(expressions.size());
  for (const Expression& expression : expressions) {
    Result<std::int64_t> value = expression.evaluate(slots);
    if (!value.ok()) return std::move(value).take_status().with_context(what);
    if (*value < 0) {
      return invalid_argument(fmt::format("{}: {} is {}", what, expression.text(), *value));
    }
    values.push_back(*value);
  }
  return values;
}

// A product above kMaxTensorBytes becomes kMaxTensorBytes, which no valid tensor reaches.
std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return kMaxTensorBytes;
  return std::min(product, kMaxTensorBytes);
}

Status measure_extent(TensorLayout& layout) {
  layout.count = 1;
  for (const std::int64_t extent : layout.shape)
    layout.count = capped_product(layout.count, extent);
  if (std::ranges::find(layout.shape, 0) != layout.shape.end()) {
    layout.count = 0;
    return {};
  }
  layout.span = 1;
  for (std::size_t axis = 0; axis < layout.shape.size(); ++axis) {
    const std::int64_t reach = capped_product(layout.shape[axis] - 1, layout.strides[axis]);
    layout.span = std::min(layout.span + reach, kMaxTensorBytes);
  }
  const std::int64_t limit = kMaxTensorBytes / size_in_bytes(layout.dtype);
  if (layout.count >= limit || layout.span >= limit) {
    return invalid_argument(fmt::format("tensor {} of shape [{}] is too large", layout.name,
                                        fmt::join(layout.shape, ", ")));
  }
  return {};
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride = capped_product(stride, shape[axis]);
  }
  return strides;
}

Result<bool> is_present(const Tensor& tensor, const Slots& slots) {
  if (tensor.has_slot >= 0 && slots[static_cast<std::size_t>(tensor.has_slot)] == 0) return false;
  if (!tensor.when) return true;
  MGTUNE_ASSIGN(const std::int64_t when, tensor.when->evaluate(slots));
  return when != 0;
}

Result<TensorLayout> layout_of(const Tensor& tensor, const Slots& slots) {
  TensorLayout layout;
  layout.name = tensor.name;
  layout.role = tensor.role;
  layout.dtype = tensor.dtype.resolve(slots);
  layout.align = std::max(tensor.align, size_in_bytes(layout.dtype));
  MGTUNE_ASSIGN(layout.present, is_present(tensor, slots));
  if (!layout.present) return layout;
  const std::string what = "tensor " + tensor.name;
  MGTUNE_ASSIGN(layout.shape, evaluate_all(tensor.shape, slots, what));
  if (tensor.strides.empty()) {
    layout.strides = contiguous_strides(layout.shape);
  } else {
    MGTUNE_ASSIGN(layout.strides, evaluate_all(tensor.strides, slots, what));
  }
  MGTUNE_TRY(measure_extent(layout));
  return layout;
}

}  // namespace

bool TensorLayout::is_contiguous() const {
  const std::vector<std::int64_t> dense = contiguous_strides(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] > 1 && strides[axis] != dense[axis]) return false;
  }
  return true;
}

Result<std::vector<TensorLayout>> tensor_layouts(const Problem& problem) {
  std::vector<TensorLayout> layouts;
  layouts.reserve(problem.op->tensors.size());
  for (const Tensor& tensor : problem.op->tensors) {
    MGTUNE_ASSIGN(TensorLayout layout, layout_of(tensor, problem.slots));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

std::string element_name(const TensorLayout& layout, std::int64_t element) {
  std::vector<std::int64_t> position(layout.shape.size());
  for (std::size_t axis = position.size(); axis-- > 0;) {
    position[axis] = element % layout.shape[axis];
    element /= layout.shape[axis];
  }
  return fmt::format("{}[{}]", layout.name, fmt::join(position, ", "));
}

}  // namespace mgtune
