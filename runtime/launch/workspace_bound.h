// How much workspace a variant needs over ranges of dims. Sizes are arbitrary expressions, not
// monotone in general (splits fall as the batch grows, in steps), so the largest is searched for:
// from every corner of the ranges along one dim after the other by 256 values spread geometrically,
// then from the largest found by every value, up to 4096. Where a range has more values than that,
// a sixteenth is added for what lies between. A plan refuses the rare launch that needs more.
//
// A pure function of an immutable variant.

#pragma once

#include <vector>

#include "launch/loaded_variant.h"
#include "dispatch/plan.h"

namespace mgtune {

// The largest zeroed part and the largest rest, which may belong to different shapes.
LoadedVariant::WorkspaceSize workspace_bound(const LoadedVariant& variant,
                                             const std::vector<DimRange>& ranges);

}  // namespace mgtune
