// Which variants of the default ladder programs need. Pure functions.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

struct LadderVariant {
  Variant variant;
  std::int64_t estimate;  // Design::estimate at the problem, or kNoEstimate
};

// The variants of `ladder` (default_ladder(), or a part of it) that may serve the problem, in the
// order in which they are tried there. Designs with an estimate that follow one another form a
// group, whose variants are in ascending order of the estimates. All others keep their places.
std::vector<LadderVariant> ladder_at(const Problem& problem, std::span<const Variant> ladder,
                                     const DeviceLimits& device);

// For each variant of `ladder`, the place of the first one of the group that estimates order. A
// variant whose design has no estimate is a group of its own.
std::vector<std::size_t> ladder_groups(const Operator& op, std::span<const Variant> ladder);

// Up to three variants of `ladder`: the first one of ladder_at() that serves the problem as it is;
// the first one that serves it for any pointers that a caller may pass; and the first one that also
// serves odd strides, for any pointers. Each variant is in the result once. There are fewer if none
// serves one of the three cases.
std::vector<Variant> default_variants(const Problem& problem, std::span<const Variant> ladder,
                                      const DeviceLimits& device);

}  // namespace mgtune
