#include "dispatch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dispatch/dispatch_table.h"
#include "dispatch/plan_variants.h"
#include "dispatch/remembered_variants.h"
#include "launch/launch_dims.h"
#include "launch/launch_program.h"
#include "launch/workspace_bound.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxLaunchDims = 32;
static_assert(kMaxPlanVariants <= RememberedVariants::kMaxVariants);

Status check_ranges(const Binding& binding, const LaunchDims& dims,
                    const std::vector<DimRange>& ranges) {
  const std::string name = binding.op->full_name();
  if (binding.slots.size() > kMaxSlots || dims.size() > kMaxLaunchDims) {
    return unsupported(
        fmt::format("{} has {} names and {} dynamic dims; at most {} and {} can be "
                    "planned",
                    name, binding.slots.size(), dims.size(), kMaxSlots, kMaxLaunchDims));
  }
  if (ranges.size() != dims.size()) {
    return invalid_argument(
        fmt::format("{}: {} ranges given, {} dims declared", name, ranges.size(), dims.size()));
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (ranges[i].low > ranges[i].high && !dims[i].fallback) {
      return invalid_argument(
          fmt::format("{}: dim '{}' needs a range; it has no default", name, dims[i].name));
    }
    if (ranges[i].low < 0 && ranges[i].low <= ranges[i].high) {
      return invalid_argument(
          fmt::format("{}: the range of dim '{}' starts at {}", name, dims[i].name, ranges[i].low));
    }
  }
  return {};
}

}  // namespace

struct Plan::State {
  Device& device;
  Binding binding;
  LaunchDims dims;
  std::vector<std::unique_ptr<LoadedVariant>> variants;
  DispatchTable table;
  std::vector<std::string> left_out;
  LoadedVariant::WorkspaceSize workspace;
  bool is_named = false;                  // the caller named the only variant
  mutable RememberedVariants remembered;  // where estimates decide

  // A launch's dims with every default resolved, on the caller's stack.
  struct Shape {
    std::array<std::int64_t, kMaxSlots> slots;
    std::array<std::int64_t, kMaxLaunchDims> dims;
  };
  Status resolve(std::span<const std::int64_t> from, Shape& shape) const {
    std::copy(binding.slots.begin(), binding.slots.end(), shape.slots.begin());
    MGTUNE_TRY(dims.resolve(from, shape.slots));
    for (std::size_t i = 0; i < dims.size(); ++i) {
      shape.dims[i] = shape.slots[std::size_t(dims[i].slot)];
    }
    return {};
  }

  // Calls visit(number) for each variant once, in the order in which they are tried for the shape,
  // until it returns true or fails. False: it never did. With the arguments of a launch, a variant
  // that estimates chose for this shape before comes first.
  template <typename Visit>
  Result<bool> visit_in_order(const Shape& shape, const Visit& visit,
                              const LaunchArguments* launch = nullptr) const {
    std::optional<std::size_t> first = table.find(shape.slots);
    std::optional<std::uint64_t> key;  // only if estimates decide
    if (!first && launch != nullptr) {
      key = RememberedVariants::key(launch->dims, launch->tensors);
      first = remembered.find(*key);
    }
    if (first) {
      MGTUNE_ASSIGN(const bool is_done, visit(*first));
      if (is_done) return true;
    }
    DispatchTable::Estimates estimates;
    if (table.needs_estimates()) estimate(shape, estimates);
    DispatchTable::Distances distances;
    table.measure(shape.slots, estimates, distances);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::size_t variant = table.pop_nearest(distances);
      if (variant == first) continue;
      MGTUNE_ASSIGN(const bool is_done, visit(variant));
      if (is_done && key) remembered.remember(*key, variant);
      if (is_done) return true;
    }
    return false;
  }

  void estimate(const Shape& shape, DispatchTable::Estimates& estimates) const {
    const auto here = std::span(shape.dims).first(dims.size());
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      if (table.needs_estimate(variant)) estimates[variant] = variants[variant]->estimate(here);
    }
  }

  // Why the variant with this number is tried for the shape.
  void explain(std::size_t variant, const Shape& shape, Explanation& explanation) const {
    const auto here = std::span(shape.slots).first(binding.slots.size());
    const Problem problem{binding.op, {here.begin(), here.end()}};
    const DeviceInfo& info = device.info();
    const Rules* rules = table.rules() == nullptr ? nullptr : &table.rules()->rules();
    if (is_named) {
      explanation.step = SelectionStep::named;
      explanation.reason = "the plan was made with this variant alone";
    } else if (const DispatchRow* row = table.nearest_row(variant, shape.slots); row != nullptr) {
      const bool is_there = std::ranges::equal(here, row->slots);
      explanation.step = is_there ? SelectionStep::exact : SelectionStep::near_problem;
      explanation.reason = row->reason;
      if (is_there) explanation.expected_ns = row->expected_ns;
    } else if (table.is_ranked(variant, shape.slots)) {
      explanation.step = table.rules()->is_of_this_gpu() ? SelectionStep::rules
                                                         : SelectionStep::rules_of_other_gpu;
      explanation.reason = describe(*rules);
      explanation.lines = rules_lines(*rules, problem, info);
    } else if (rules != nullptr && leave_it_to_the_ladder(*rules, problem, info)) {
      explanation.reason = describe(*rules) + ", leave the choice to it";
      explanation.lines = rules_lines(*rules, problem, info);
    } else {
      explanation.reason = "no tuned problem is near, and no rules choose a variant of the plan";
    }
    explanation.improvement = improvement_text(explanation.step, problem, rules, info);
  }

  Status nothing_serves(const LaunchArguments& arguments, const Shape& shape) const {
    std::string message = fmt::format("{} {}: no variant of the plan serves this call",
                                      binding.op->full_name(), dims.text(shape.slots));
    for (const auto& variant : variants) {
      const Status refusal = variant->refusal(arguments);
      message += fmt::format(
          "; {}: {}", variant->text(),
          refusal.ok() ? "needs more workspace than the ranges of the plan do" : refusal.message());
    }
    return unsupported(std::move(message));
  }
};

Result<std::unique_ptr<Plan>> Plan::make(SharedModules& modules, Builder& builder,
                                         const Binding& binding,
                                         const std::vector<DimRange>& ranges,
                                         const Evidence& evidence, bool strict,
                                         const std::optional<Variant>& only) {
  LaunchDims dims(*binding.op);
  MGTUNE_TRY(check_ranges(binding, dims, ranges));
  MGTUNE_ASSIGN(PlanVariants loaded,
                load_plan_variants({modules, builder, binding, ranges, evidence, strict, only}));
  LoadedVariant::WorkspaceSize workspace;
  std::int64_t rest_bytes = 0;
  for (const auto& variant : loaded.variants) {
    if (binding.op->designs[std::size_t(variant->variant().design)].workspace.empty()) continue;
    const LoadedVariant::WorkspaceSize bound = workspace_bound(*variant, ranges);
    workspace.zeroed_bytes = std::max(workspace.zeroed_bytes, bound.zeroed_bytes);
    rest_bytes = std::max(rest_bytes, bound.bytes - bound.zeroed_bytes);
  }
  workspace.bytes = workspace.zeroed_bytes + rest_bytes;
  DispatchTable table(*binding.op, loaded.variants.size(), std::move(loaded.rows),
                      std::move(loaded.rules), std::move(loaded.ranked), std::move(loaded.ladder));
  return std::unique_ptr<Plan>(new Plan(std::unique_ptr<State>(new State{modules.device(),
                                                                         binding,
                                                                         std::move(dims),
                                                                         std::move(loaded.variants),
                                                                         std::move(table),
                                                                         std::move(loaded.left_out),
                                                                         workspace,
                                                                         only.has_value(),
                                                                         {}})));
}

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;

Status Plan::launch(const LaunchArguments& arguments) const {
  State::Shape shape;
  MGTUNE_TRY(state_->resolve(arguments.dims, shape));
  LaunchArguments resolved = arguments;
  resolved.dims = std::span(shape.dims).first(state_->dims.size());
  const auto try_launch = [&](std::size_t variant) {
    return state_->variants[variant]->try_launch(resolved, state_->workspace);
  };
  MGTUNE_ASSIGN(const bool launched, state_->visit_in_order(shape, try_launch, &resolved));
  return launched ? Status() : state_->nothing_serves(resolved, shape);
}

LoadedVariant::WorkspaceSize Plan::workspace_size() const { return state_->workspace; }

Status Plan::init_workspace(void* workspace, Stream stream) const {
  const auto bytes = static_cast<std::size_t>(state_->workspace.zeroed_bytes);
  return bytes == 0 ? Status() : state_->device.fill_bytes(workspace, 0, bytes, stream);
}

Result<Plan::Explanation> Plan::explain(const std::vector<std::int64_t>& dims) const {
  State::Shape shape;
  MGTUNE_TRY(state_->resolve(dims, shape));
  LaunchArguments arguments;
  arguments.dims = std::span(shape.dims).first(state_->dims.size());
  std::size_t serving = 0;
  MGTUNE_ASSIGN(const bool is_served,
                state_->visit_in_order(shape, [&](std::size_t variant) -> Result<bool> {
                  serving = variant;
                  return state_->variants[variant]->serves(arguments);
                }));
  if (!is_served) return state_->nothing_serves(arguments, shape);
  Explanation explanation{
      state_->variants[serving]->text(), SelectionStep::default_ladder, "", 0, {}, ""};
  state_->explain(serving, shape, explanation);
  for (const std::string& failure : state_->left_out) {
    explanation.reason += "; left out: " + failure;
  }
  return explanation;
}

const Binding& Plan::binding() const { return state_->binding; }

std::vector<std::string> Plan::variants() const {
  std::vector<std::string> texts;
  for (const auto& variant : state_->variants) texts.push_back(variant->text());
  return texts;
}

}  // namespace mgtune
