#include "family/problem_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mgtune {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

Status misfit(const Problem& problem, const std::string& path, const std::string& message) {
  return invalid_argument(fmt::format("{}: {} {}: {}", problem.op->place(path),
                                      problem.op->full_name(), problem.text(), message));
}

Result<std::vector<std::int64_t>> checked_values(const Problem& problem,
                                                 const std::vector<Expression>& expressions,
                                                 const std::string& path) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    MGTUNE_ASSIGN(const std::int64_t value, checked_value(problem, expressions[i], problem.slots,
                                                          fmt::format("{}/{}", path, i), 0));
    values.push_back(value);
  }
  return values;
}

// Whether a tensor of this layout fits into kMostBytes; `strides` is empty for a contiguous one.
bool fits(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
          std::int64_t element_bytes) {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  std::int64_t count = 1;
  std::int64_t span = 1;  // elements from the first to the last, padding included
  bool overflow = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    overflow |= __builtin_mul_overflow(count, shape[axis], &count);
    std::int64_t reach = 0;
    if (!strides.empty()) {
      overflow |= __builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach);
    }
    overflow |= __builtin_add_overflow(span, reach, &span);
  }
  return !overflow && std::max(count, span) < kMostBytes / element_bytes;
}

Result<bool> is_present(const Problem& problem, const Tensor& tensor, const std::string& path) {
  if (tensor.optional && problem.slots[static_cast<std::size_t>(tensor.has_slot)] == 0) {
    return false;
  }
  if (!tensor.when) return true;
  MGTUNE_ASSIGN(const std::int64_t when,
                checked_value(problem, *tensor.when, problem.slots, path + "/when", 0));
  return when != 0;
}

Status check_tensor(const Problem& problem, const Tensor& tensor) {
  const std::string path = "/tensors/" + tensor.name;
  MGTUNE_ASSIGN(const bool present, is_present(problem, tensor, path));
  if (!present) return {};
  MGTUNE_ASSIGN(const std::vector<std::int64_t> shape,
                checked_values(problem, tensor.shape, path + "/shape"));
  MGTUNE_ASSIGN(const std::vector<std::int64_t> strides,
                checked_values(problem, tensor.strides, path + "/strides"));
  const DType dtype = tensor.dtype.resolve(problem.slots);
  if (fits(shape, strides, size_in_bytes(dtype))) return {};
  const std::string strided =
      strides.empty() ? "" : fmt::format(" and strides [{}]", fmt::join(strides, ", "));
  return misfit(problem, path + "/shape",
                fmt::format("a tensor of {} with shape [{}]{} is larger than memory can be",
                            to_string(dtype), fmt::join(shape, ", "), strided));
}

}  // namespace

Result<std::int64_t> checked_value(const Problem& problem, const Expression& expression,
                                   std::span<const std::int64_t> slots, const std::string& path,
                                   std::int64_t least) {
  Result<std::int64_t> value = expression.evaluate(slots);
  if (value.ok() && *value >= least) return value;
  const Status status = value.ok()
                            ? expression.refusal(fmt::format("{} is below {}", *value, least))
                            : value.status();
  return misfit(problem, path, status.message());
}

Status check_tensors(const Problem& problem) {
  for (const Tensor& tensor : problem.op->tensors) MGTUNE_TRY(check_tensor(problem, tensor));
  MGTUNE_TRY(checked_value(problem, problem.op->bytes, problem.slots, "/cost/bytes", 0).status());
  return checked_value(problem, problem.op->flops, problem.slots, "/cost/flops", 0).status();
}

}  // namespace mgtune
