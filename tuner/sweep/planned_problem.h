// PlannedProblem: a problem that a sweep will tune on a device, with its space. The space is built
// once and its variants are counted once; whoever needs either gets it from here. Plain data; the
// operator outlives it.

#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "space/space.h"
#include "store/records.h"

namespace mgtune {

struct PlannedProblem {
  Problem problem;
  Space space;
  std::vector<DesignStatistics> designs;
  std::uint64_t admissible = 0;  // variants, over all designs
  bool counted = true;           // false: there are at least so many

  bool is_served() const { return admissible > 0 || !counted; }  // some variant may run here
};

// Counts until `max_nodes` steps of the enumeration were taken.
PlannedProblem plan_problem(Problem problem, const DeviceInfo& device, std::uint64_t max_nodes);

// What each design's space lost before anything was compiled, as the store keeps it: one record for
// each design. A space that was too large for its share of the counting is counted further, for a
// third of a second at most. Counts that are too large for the store become 2^63 - 1.
std::vector<SpaceRecord> space_records(const PlannedProblem& planned);

}  // namespace mgtune
