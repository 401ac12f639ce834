// PlanRules: rules as a plan looks them up at a launch. Conditions that are the same for all shapes
// in the plan's ranges are decided once. If a condition depends on one dim, or on the bytes alone,
// and changes once in the ranges, a launch compares that value with a threshold, which takes about
// 1 ns. The thresholds are found when the plan is made, and proven by interval arithmetic. All
// other conditions are evaluated at each launch, about 10 ns each. Immutable; any number of threads
// may look up.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "launch/launch_dims.h"
#include "selection/rules.h"

namespace mgtune {

class PlanRules {
 public:
  PlanRules(std::shared_ptr<const Rules> rules, const Binding& binding,
            const std::vector<DimRange>& ranges, const DeviceInfo& device);

  // The leaves that a shape in the ranges can reach, in the order of the tree.
  const std::vector<const RuleNode*>& leaves() const { return leaves_; }

  // The number of the leaf (in leaves()) for a launch. `slots` are those of the operator with the
  // dims of the launch; more than slot_count() are ignored. Allocates nothing and takes no lock.
  std::size_t find(std::span<const std::int64_t> slots) const;

  // How many conditions are evaluated at launches, instead of a comparison with a threshold.
  std::size_t evaluated_conditions() const;

  const Rules& rules() const { return *rules_; }
  bool is_of_this_gpu() const { return is_own_; }

 private:
  // A leaf (`yes` is its number), a comparison of a value with a threshold, or a condition.
  struct Node {
    enum class Kind : std::uint8_t { leaf, threshold, condition };
    Kind kind = Kind::leaf;
    const Expression* condition = nullptr;
    std::size_t slot = 0;  // of a threshold: `yes` if the value here is at most `last`
    std::int64_t last = 0;
    std::size_t yes = 0, no = 0;  // places of nodes
  };
  std::size_t add(std::size_t place, std::span<const Interval> values);
  void simplify(Node& node, std::span<const Interval> values) const;
  // Whether the condition holds while the value at `slot` is in the interval `at`. The result has
  // 0, 1 or both.
  Interval truth(const Expression& condition, std::size_t slot, const Interval& at,
                 std::span<const Interval> values) const;
  bool holds(const Expression& condition, std::span<const std::int64_t> slots,
             std::int64_t bytes) const;

  std::shared_ptr<const Rules> rules_;
  RuleNames names_;
  bool is_own_ = false, reads_bytes_ = false;
  Slots fixed_;  // the static slots, the device's figures and the bandwidth
  std::vector<Node> nodes_;
  std::vector<const RuleNode*> leaves_;
};

}  // namespace mgtune
