#include "plan/problem_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "family/variant_pattern.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMaxSpanBytes = std::int64_t{1} << 62;

Status misfit(const Problem& problem, const std::string& path, const std::string& message) {
  return invalid_argument(fmt::format("{}: {} {}: {}", problem.op->place(path),
                                      problem.op->full_name(), problem.text(), message));
}

// The value of an expression that is at `path` in the file. Fails if evaluating it fails or if the
// value is below `min`.
Result<std::int64_t> checked_value(const Problem& problem, const Expression& expression,
                                   std::span<const std::int64_t> slots, const std::string& path,
                                   std::int64_t min) {
  Result<std::int64_t> value = expression.evaluate(slots);
  if (value.ok() && *value >= min) return value;
  const Status status =
      value.ok() ? expression.refusal(fmt::format("{} is below {}", *value, min)) : value.status();
  return misfit(problem, path, status.message());
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

// Whether a tensor of this layout fits into kMaxSpanBytes; `strides` is empty for a contiguous one.
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
  return !overflow && std::max(count, span) < kMaxSpanBytes / element_bytes;
}

// Whether the `when` of the part of the file at `path` says that the part is present.
Result<bool> is_present(const Problem& problem, const std::optional<Expression>& when,
                        const Slots& slots, const std::string& path) {
  if (!when) return true;
  MGTUNE_ASSIGN(const std::int64_t value, checked_value(problem, *when, slots, path + "/when", 0));
  return value != 0;
}

Status check_tensor(const Problem& problem, const Tensor& tensor) {
  const std::string path = "/tensors/" + tensor.name;
  const bool is_left_out =
      tensor.optional && problem.slots[static_cast<std::size_t>(tensor.has_slot)] == 0;
  if (is_left_out) return {};
  MGTUNE_ASSIGN(const bool present, is_present(problem, tensor.when, problem.slots, path));
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

constexpr std::int64_t kAnyValue = std::numeric_limits<std::int64_t>::min();

bool reads_any(const Expression& expression, const std::vector<bool>& slots) {
  return std::ranges::any_of(expression.slots(),
                             [&](int slot) { return slots[static_cast<std::size_t>(slot)]; });
}

// The slots whose values differ between the design's variants, or are known only after a build.
std::vector<bool> varying_slots(const Design& design) {
  std::vector<bool> varies(design.scope.size(), false);
  varies[kSlotBuildBlocksPerSm] = varies[kSlotBuildMaxClusters] = true;
  for (const Parameter& parameter : design.params) {
    varies[static_cast<std::size_t>(parameter.slot)] = true;
  }
  for (const Let& let : design.lets) {
    varies[static_cast<std::size_t>(let.slot)] = reads_any(let.value, varies);
  }
  return varies;
}

// The slots of the first of the design's defaults that runs this problem. We assume that one block
// of its build fits on each multiprocessor.
std::optional<Slots> default_slots(const Problem& problem, const DeviceLimits& device,
                                   int design_index) {
  const Operator& op = *problem.op;
  const Design& design = op.designs[static_cast<std::size_t>(design_index)];
  for (const Default& rung : design.defaults) {
    const std::optional<Variant> variant =
        variant_of({design_index, rung.values}, problem.binding(), device);
    if (!variant) continue;
    Result<Slots> slots = compile_slots(problem.binding(), *variant, device);
    if (!slots.ok() || !is_admissible(op, *variant, *slots)) continue;
    for (const Dim& dim : op.dims) {
      const auto slot = static_cast<std::size_t>(dim.slot);
      (*slots)[slot] = problem.slots[slot];
    }
    (*slots)[kSlotBuildBlocksPerSm] = (*slots)[kSlotBuildMaxClusters] = 1;
    const bool runs =
        evaluate_lets(design, Stage::launch, *slots).ok() && serves(op, *variant, *slots);
    if (runs) return *std::move(slots);
  }
  return std::nullopt;
}

struct LaunchCheck {
  const Problem& problem;
  const Design& design;
  const Slots& slots;
  std::vector<bool> varies;  // as varying_slots() says

  Status run() const {
    const std::string root = "/designs/" + design.name;
    for (const Workspace& buffer : design.workspace) {
      const std::string path = root + "/workspace/" + buffer.name;
      MGTUNE_ASSIGN(const bool runs, always_runs(buffer.when, path));
      if (runs) MGTUNE_TRY(check_all(buffer.shape, path + "/shape", 0));
    }
    for (std::size_t i = 0; i < design.launches.size(); ++i) {
      MGTUNE_TRY(check_launch(design.launches[i], fmt::format("{}/launches/{}", root, i)));
    }
    return {};
  }

  Status check_launch(const Launch& launch, const std::string& path) const {
    MGTUNE_ASSIGN(const bool runs, always_runs(launch.when, path));
    if (!runs) return {};
    MGTUNE_TRY(check_all(launch.grid, path + "/grid", 0));
    MGTUNE_TRY(check_all(launch.block, path + "/block", 1));
    MGTUNE_TRY(check_all(launch.cluster, path + "/cluster", 1));
    MGTUNE_TRY(check(launch.shared, path + "/shared", 0));
    MGTUNE_TRY(check(launch.cooperative, path + "/cooperative", 0));
    MGTUNE_TRY(check(launch.pdl, path + "/pdl", 0));
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      if (!launch.args[i].value) continue;
      MGTUNE_TRY(check(*launch.args[i].value, fmt::format("{}/args/{}", path, i), kAnyValue));
    }
    for (const TensorMap& map : launch.tensor_maps) {
      const std::string place = path + "/tensor_maps/" + map.name;
      MGTUNE_TRY(check_all(map.extent, place + "/extent", 0));
      MGTUNE_TRY(check_all(map.stride, place + "/stride", 0));
      MGTUNE_TRY(check_all(map.box, place + "/box", 0));
    }
    return {};
  }

  // Whether a part with this `when` is present in all variants.
  Result<bool> always_runs(const std::optional<Expression>& when, const std::string& path) const {
    if (when && reads_any(*when, varies)) return false;
    return is_present(problem, when, slots, path);
  }

  Status check_all(const std::vector<Expression>& expressions, const std::string& path,
                   std::int64_t min) const {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      MGTUNE_TRY(check(expressions[i], fmt::format("{}/{}", path, i), min));
    }
    return {};
  }

  Status check(const Expression& expression, const std::string& path, std::int64_t min) const {
    if (reads_any(expression, varies)) return {};
    return checked_value(problem, expression, slots, path, min).status();
  }
};

}  // namespace

Status check_tensors(const Problem& problem) {
  for (const Tensor& tensor : problem.op->tensors) MGTUNE_TRY(check_tensor(problem, tensor));
  MGTUNE_TRY(checked_value(problem, problem.op->bytes, problem.slots, "/cost/bytes", 0).status());
  return checked_value(problem, problem.op->flops, problem.slots, "/cost/flops", 0).status();
}

Status check_launches(const Problem& problem, const DeviceLimits& device) {
  const std::vector<Design>& designs = problem.op->designs;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    const std::optional<Slots> slots = default_slots(problem, device, static_cast<int>(i));
    if (!slots) continue;
    const LaunchCheck check{problem, designs[i], *slots, varying_slots(designs[i])};
    MGTUNE_TRY(check.run());
  }
  return {};
}

}  // namespace mgtune
