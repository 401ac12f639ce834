// PlannedProblem: a problem that a sweep will tune on a device, with its space. The space is made
// once and its variants are counted once; all other code takes them from here. Plain data; the
// operator must outlive it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "space/space.h"
#include "space/space_part.h"
#include "store/records.h"

namespace mgtune {

struct PlannedProblem {
  Problem problem;
  Space space;                 // what all shards of the sweep together may visit
  std::optional<Space> whole;  // set if `space` is only the part that a narrowing leaves
  std::vector<DesignStatistics> designs;
  std::uint64_t admissible = 0;  // variants, over all designs
  bool counted = true;           // false: counting was stopped, and there may be more

  // The part of the problem that a shard has, if it does not have all: the variants that it may
  // visit, and how many of them it visits at most. `admissible` is then the number of these
  // variants, while `designs` still describes the whole space.
  std::optional<SpacePart> part = {};
  std::optional<std::int64_t> evaluations = {};

  // Its share of a budget of time, relative to the other problems of the sweep.
  double weight = 1;

  // Whether the variant may run here, even if the sweep does not visit it.
  bool admits(const Variant& variant) const { return whole_space().serves(variant); }
  const VariantSet& visited() const {
    return part.has_value() ? static_cast<const VariantSet&>(*part) : space;
  }
  const Space& whole_space() const { return whole.has_value() ? *whole : space; }
  bool is_served() const { return admissible > 0 || !counted; }  // some variant may run here
};

// Counts until `max_nodes` steps of the enumeration were taken.
PlannedProblem plan_problem(Problem problem, const DeviceInfo& device, std::uint64_t max_nodes,
                            const std::shared_ptr<const Narrowing>& narrowing = nullptr);

// If not all variants of the problem were counted, counts them again, with more steps.
void count_further(PlannedProblem& planned, std::uint64_t max_nodes);

// The records that the store keeps of the designs' spaces, one per design: how many points there
// are and which rules of the operator exclude points. If plan_problem() did not count all of a
// space, this function counts further, for at most a third of a second. Counts that are too large
// for the store become 2^63 - 1.
std::vector<SpaceRecord> space_records(const PlannedProblem& planned);

}  // namespace mgtune
