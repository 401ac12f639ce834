// The shapes in the ranges of a plan at which its variants are chosen. Pure functions.

#pragma once

#include <vector>

#include "core/status.h"
#include "dispatch/plan.h"
#include "family/problem.h"
#include "selection/variant_selection.h"

namespace mgtune {

// The problems at which variants of the ladder are chosen, at most 8, each once: the ends and the
// geometric middle of the ranges, then `tuned` clamped into the ranges. A point that breaks a
// constraint of the operator is left out, because nobody can ask for it. If all are left out, the
// result is the first failure.
Result<std::vector<Problem>> plan_points(const Binding& binding,
                                         const std::vector<DimRange>& ranges,
                                         const std::vector<const TunedEntry*>& tuned);

// Up to 32 problems that are spread evenly over the logarithms of the ranges. Empty if every range
// is one value.
std::vector<Problem> sample_of_ranges(const Binding& binding, const std::vector<DimRange>& ranges);

}  // namespace mgtune
