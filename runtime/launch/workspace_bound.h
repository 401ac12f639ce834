// How much workspace a variant needs over ranges of dims. Sizes are arbitrary expressions. In
// general they are not monotone (the number of splits falls in steps as the batch grows), so the
// maximum is searched for: from every corner of the ranges along one dim after the other at 256
// values that are spread geometrically, then from the largest one found at every value, up to 4096.
// If a range has more values than that, a sixteenth is added for the values between. A plan refuses
// the rare launch that needs more.
//
// A pure function of an immutable variant.

#pragma once

#include <vector>

#include "launch/launch_dims.h"
#include "launch/loaded_variant.h"

namespace mgtune {

// The largest zeroed part and the largest rest. They may belong to different shapes.
LoadedVariant::WorkspaceSize workspace_bound(const LoadedVariant& variant,
                                             const std::vector<DimRange>& ranges);

}  // namespace mgtune
