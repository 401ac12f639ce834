// PlanPoints: the problems by which a plan is judged: the ends and the geometric middle of its
// ranges, what was measured clamped into them, and steps between. Plain data.

#pragma once

#include <vector>

#include "core/status.h"
#include "dispatch/plan.h"
#include "family/problem.h"

namespace mgtune {

// Ends and middle come first, then what was measured, then the steps; at most `most`, each once. A
// point that breaks a constraint of the operator is no problem anybody can ask for; when all do,
// the first failure. `measured`: problems of the operator, the nearest first.
Result<std::vector<Problem>> plan_points(const Binding& binding,
                                         const std::vector<DimRange>& ranges,
                                         const std::vector<const Problem*>& measured,
                                         std::size_t steps, std::size_t most);

}  // namespace mgtune
