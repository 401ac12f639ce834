// The metrics of one problem: the operator's formulas with the numbers of the problem filled in.
// Pure.

#pragma once

#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "family/problem.h"

namespace mgtune {

// The metrics of the problem's operator. In the formulas, dims, flags, sizeof, has, bytes and flops
// are replaced by the problem's numbers. Only parameters and `ns` remain. invalid_argument if a
// cost cannot be evaluated.
Result<std::vector<Metric>> problem_metrics(const Problem& problem);

}  // namespace mgtune
