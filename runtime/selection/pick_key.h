// The keys under which a database stores picks, so that a plan reads only the picks that may serve
// it. Pure functions.

#pragma once

#include <cstdint>
#include <vector>

#include "database/pick.h"
#include "family/problem.h"
#include "launch/launch_dims.h"

namespace mgtune {

// The key of the picks of this problem. The kind has the operator, and the static dims, dtypes and
// flags as in the text of a binding. Optional tensors are not in it, because a pick with other
// optional tensors may serve too. The size counts the dynamic and hint dims without a default.
PickKey key_of(const Problem& problem);

// The key that a plan with this binding and these ranges asks for: its kind, and the size in the
// middle of the ranges.
PickKey key_of(const Binding& binding, const std::vector<DimRange>& ranges);

// The geometric middle of a range that is not empty, as a value in the range.
std::int64_t middle_of(const DimRange& range);

}  // namespace mgtune
