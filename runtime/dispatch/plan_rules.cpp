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
  reads_bytes_ = std::ranges::any_of(nodes_, [&](const Node& node) {
    return node.kind == Node::Kind::threshold
               ? node.slot == names_.bytes_slot()
               : node.condition != nullptr && reads(*node.condition, names_.bytes_slot());
  });
}

Interval PlanRules::truth(const Expression& condition, std::size_t slot, const Interval& at,
                          std::span<const Interval> values) const {
  constexpr Interval kEither{0, 1};
  std::vector<Interval> here(values.begin(), values.end());
  here[slot] = at;
  if (slot != names_.bytes_slot() && reads(condition, names_.bytes_slot())) {
    here[names_.bytes_slot()] = rules_->op->bytes.bounds(here);
    if (here[names_.bytes_slot()].is_empty()) return kEither;
  }
  const Interval truth = condition.bounds(here);
  return truth.is_empty() ? Interval::only(0) : truth;  // a condition that fails does not hold
}

void PlanRules::simplify(Node& node, std::span<const Interval> values) const {
  const Expression& condition = *node.condition;
  const bool of_bytes = reads(condition, names_.bytes_slot());
  std::vector<std::size_t> varying, varying_of_condition;
  const auto collect = [&](const Expression& expression, std::vector<std::size_t>& found) {
    for (const int read : expression.slots()) {
      const auto slot = static_cast<std::size_t>(read);
      const bool is_dim = slot != names_.bytes_slot() && values[slot].low < values[slot].high;
      if (is_dim && std::ranges::find(found, slot) == found.end()) found.push_back(slot);
    }
  };
  collect(condition, varying_of_condition);
  varying = varying_of_condition;
  if (of_bytes) collect(rules_->op->bytes, varying);
  std::size_t slot = names_.bytes_slot();
  if (varying.size() == 1) {
    slot = varying.front();
  } else if (!of_bytes || !varying_of_condition.empty()) {
    return;  // it depends on several values
  }
  const Interval range = values[slot];
  const Interval at_low = truth(condition, slot, Interval::only(range.low), values);
  const Interval at_high = truth(condition, slot, Interval::only(range.high), values);
  std::int64_t last = range.low, next = range.high;
  while (next - last > 1) {
    const std::int64_t middle = last + (next - last) / 2;
    (truth(condition, slot, Interval::only(middle), values) == at_low ? last : next) = middle;
  }
  if (at_low == at_high || truth(condition, slot, {range.low, last}, values) != at_low ||
      truth(condition, slot, {next, range.high}, values) != at_high) {
    return;  // it does not change, or more than once
  }
  if (at_low == Interval::only(0)) std::swap(node.yes, node.no);
  node = {Node::Kind::threshold, nullptr, slot, last, node.yes, node.no};
}

std::size_t PlanRules::evaluated_conditions() const {
  return static_cast<std::size_t>(std::ranges::count(nodes_, Node::Kind::condition, &Node::kind));
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
  const std::size_t yes = add(node.yes, values), no = add(node.no, values);
  nodes_[here] = {Node::Kind::condition, &*node.condition, 0, 0, yes, no};
  simplify(nodes_[here], values);
  return here;
}

bool PlanRules::holds(const Expression& condition, std::span<const std::int64_t> slots,
                      std::int64_t bytes) const {
  std::array<std::int64_t, kMaxSlots> values;
  std::ranges::copy(fixed_, values.begin());
  for (const Dim& dim : rules_->op->dims) {
    values[std::size_t(dim.slot)] = slots[std::size_t(dim.slot)];
  }
  values[names_.bytes_slot()] = bytes;
  const Result<std::int64_t> value = condition.evaluate(values);
  return value.ok() && *value != 0;
}

std::size_t PlanRules::find(std::span<const std::int64_t> slots) const {
  if (nodes_.empty()) return 0;
  std::int64_t bytes = 0;
  if (reads_bytes_) {
    const Result<std::int64_t> value = rules_->op->bytes.evaluate(slots);
    if (value.ok()) bytes = *value;
  }
  const Node* node = &nodes_.front();
  while (node->kind != Node::Kind::leaf) {
    bool is_yes = false;
    if (node->kind == Node::Kind::threshold) {
      const bool is_bytes = node->slot == names_.bytes_slot();
      is_yes = (is_bytes ? bytes : slots[node->slot]) <= node->last;
    } else {
      is_yes = holds(*node->condition, slots, bytes);
    }
    node = &nodes_[is_yes ? node->yes : node->no];
  }
  return node->yes;
}

}  // namespace mgtune
