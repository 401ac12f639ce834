// The metrics of one problem: what of the operator's formulas is left when the problem is known.
// Pure.

#pragma once

#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "family/problem.h"

namespace mgtune {

// The metrics of the problem's operator. In the formulas, dims, flags, sizeof, has, bytes and flops
// are replaced by the problem's numbers: what is left are parameters and `ns`. invalid_argument if
// a cost cannot be evaluated.
Result<std::vector<Metric>> problem_metrics(const Problem& problem);

}  // namespace mgtune
