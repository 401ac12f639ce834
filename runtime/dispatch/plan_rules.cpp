#include "dispatch/plan_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "launch/launch_program.h"
#include "selection/variant_selection.h"

namespace mgtune {
namespace {

bool reads(const Expression& expression, std::size_t slot) {
  const std::span<const int> slots = expression.slots();
  return std::ranges::find(slots, static_cast<int>(slot)) != slots.end();
}

}  // namespace

PlanRules::PlanRules(std::shared_ptr<const Rules> rules, const Binding& binding,
                     const std::vector<DimRange>& ranges, const DeviceInfo& device)
    : rules_(std::move(rules)),
      names_(*binding.op),
      is_own_(is_same_gpu(rules_->gpu, gpu_record(device))) {
  const Problem at_zero{binding.op, binding.slots};
  fixed_ = names_.values(at_zero, device.limits, bandwidth_for(device, *rules_));
  std::vector<Interval> values;
  for (const std::int64_t value : fixed_) values.push_back(Interval::only(value));
  std::size_t index = 0;
  for (const Dim& dim : binding.op->dims) {
    if (dim.kind == DimKind::fixed) continue;
    const DimRange range = index < ranges.size() ? ranges[index] : DimRange{1, 0};
    ++index;
    values[std::size_t(dim.slot)] =
        range.low <= range.high ? Interval{range.low, range.high} : Interval::not_negative();
  }
  values[names_.bytes_slot()] = binding.op->bytes.bounds(values);
  if (values[names_.bytes_slot()].is_empty())
    values[names_.bytes_slot()] = Interval::not_negative();
  if (fixed_.size() <= kMaxSlots) add(0, values);
  for (const Node& node : nodes_) {
    if (node.condition != nullptr && reads(*node.condition, names_.bytes_slot())) {
      reads_bytes_ = true;
    }
  }
}

std::size_t PlanRules::add(std::size_t place, std::span<const Interval> values) {
  const RuleNode& node = rules_->nodes[place];
  if (node.condition) {
    const Interval truth = node.condition->bounds(values);
    if (truth == Interval::only(1)) return add(node.yes, values);
    if (truth.is_empty() || truth == Interval::only(0)) return add(node.no, values);
  }
  const std::size_t here = nodes_.size();
  nodes_.emplace_back();
  if (!node.condition) {
    nodes_[here].yes = leaves_.size();
    leaves_.push_back(&node);
    return here;
  }
  nodes_[here].condition = &*node.condition;
  const std::size_t yes = add(node.yes, values), no = add(node.no, values);
  nodes_[here].yes = yes;
  nodes_[here].no = no;
  return here;
}

std::size_t PlanRules::find(std::span<const std::int64_t> slots) const {
  if (nodes_.empty() || nodes_.front().condition == nullptr) return 0;
  std::array<std::int64_t, kMaxSlots> values;
  std::ranges::copy(fixed_, values.begin());
  for (const Dim& dim : rules_->op->dims) {
    values[std::size_t(dim.slot)] = slots[std::size_t(dim.slot)];
  }
  if (reads_bytes_) {
    const Result<std::int64_t> bytes = rules_->op->bytes.evaluate(values);
    values[names_.bytes_slot()] = bytes.ok() ? *bytes : 0;
  }
  const Node* node = &nodes_.front();
  while (node->condition != nullptr) {
    const Result<std::int64_t> holds = node->condition->evaluate(values);
    node = &nodes_[holds.ok() && *holds != 0 ? node->yes : node->no];
  }
  return node->yes;
}

}  // namespace mgtune
