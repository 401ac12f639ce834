// The keys under which a database has picks, so that a plan reads those that may serve it and no
// others. Pure functions.

#pragma once

#include <cstdint>
#include <vector>

#include "database/pick.h"
#include "family/problem.h"
#include "launch/launch_dims.h"

namespace mgtune {

// Of a pick of this problem. The kind has the operator, and the static dims, dtypes and flags as
// the text of a binding has them. Optional tensors are not in it, because picks with other ones may
// serve too. The size counts the dynamic and hint dims without a default.
PickKey key_of(const Problem& problem);

// What a plan with this binding and these ranges asks for: its kind, and the size in the middle.
PickKey key_of(const Binding& binding, const std::vector<DimRange>& ranges);

// The geometric middle of a range that is not empty, as a value in the range.
std::int64_t middle_of(const DimRange& range);

}  // namespace mgtune
