// Computes how large the space of each design of an operator is, and how many points each
// constraint removes. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "family/operator.h"
#include "family/problem.h"

namespace mgtune {

struct PrunedByConstraint {
  std::string constraint;    // "count % VEC == 0", "requires device.cc >= 90"
  std::string place;         // "scale/vector.json:22: /designs/flat/constraints/0"
  bool guards_dims = false;  // it reads dynamic dims, so it may matter only for other problems
  std::uint64_t points = 0;  // that it excludes, among those that earlier constraints leave
};

struct SpaceSummary {
  std::string design;
  std::string problem;  // the first problem; `points` and `admissible` belong to it
  std::uint64_t points = 0, admissible = 0;
  bool counted = true;      // false: there may be more than `admissible`
  std::string unavailable;  // the requirement that excludes every point on the device, or ""
  std::vector<PrunedByConstraint> pruned;  // at the first problem, in the file's order
  // No problem has a variant, and the reason is not what the design requires of the device.
  bool is_empty = false;
  // About all problems together: "`A < B` removes every variant of every problem ...".
  std::vector<std::string> warnings;
};

// One entry per design, in order. `problems` is not empty.
std::vector<SpaceSummary> summarize_space(const Operator& op, const std::vector<Problem>& problems,
                                          const DeviceInfo& device);

}  // namespace mgtune
