// Unit patterns: a measured variant in terms of the problem at which it was measured. With the
// units of rmsnorm.forward, 256 threads per row of 4,096 elements with vectors of 8 are "hidden /
// VEC / 2". Rules name such patterns, so that what was measured at one size counts at others. Pure
// functions.

#pragma once

#include "family/problem.h"
#include "family/variant_pattern.h"

namespace mgtune {

// Parameters that have a unit (Design::units) become their unit, times or over a power of two. The
// pattern is the same variant at this binding. A value that no such expression gives stays a
// number.
VariantPattern pattern_in_units(const Variant& variant, const Binding& binding,
                                const DeviceLimits& device);

}  // namespace mgtune
