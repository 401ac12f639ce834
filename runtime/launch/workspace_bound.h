// How much workspace a variant needs over ranges of dims. Sizes are arbitrary expressions, and in
// general they are not monotone: the number of splits falls in steps as the batch grows. So a bound
// is proven by interval arithmetic. It may be too large, because an interval forgets that two
// values depend on the same dim. To make it smaller, the part of the ranges with the largest bound
// is cut in two, again and again, until a launch is found that needs as much. After some cuts a
// launch that needs nearly as much is enough, and after many cuts the bound is taken as it is.
//
// A pure function of an immutable variant.

#pragma once

#include <vector>

#include "launch/launch_dims.h"
#include "launch/loaded_variant.h"

namespace mgtune {

// The zeroed part and the rest are at least as large as any launch in the ranges needs. They may
// belong to different shapes.
LoadedVariant::WorkspaceSize workspace_bound(const LoadedVariant& variant,
                                             const std::vector<DimRange>& ranges);

}  // namespace mgtune
