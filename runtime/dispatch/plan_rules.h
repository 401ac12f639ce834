// PlanRules: rules as a plan looks them up at a launch. Conditions that are the same for all shapes
// in the plan's ranges are decided once; the others are evaluated at each launch, about 10 ns each.
// Immutable; any number of threads may look up.

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
  // dims of the launch; more than slot_count() are ignored. Allocates nothing.
  std::size_t find(std::span<const std::int64_t> slots) const;

  const Rules& rules() const { return *rules_; }
  bool is_of_this_gpu() const { return is_own_; }

 private:
  struct Node {
    const Expression* condition = nullptr;  // null: a leaf
    std::size_t yes = 0, no = 0;            // places of nodes; of a leaf, `yes` is its number
  };
  std::size_t add(std::size_t place, std::span<const Interval> values);

  std::shared_ptr<const Rules> rules_;
  RuleNames names_;
  bool is_own_ = false, reads_bytes_ = false;
  Slots fixed_;  // the static slots, the device's figures and the bandwidth
  std::vector<Node> nodes_;
  std::vector<const RuleNode*> leaves_;
};

}  // namespace mgtune
