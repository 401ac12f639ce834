// Unit patterns: a measured variant in terms of the problem at which it was measured. With the
// units of rmsnorm.forward, 256 threads per row of 4,096 elements with vectors of 8 are
// "hidden / VEC / 2". Rules name such patterns, so that what was measured at one size counts at
// others. Pure functions.

#pragma once

#include <cstddef>
#include <vector>

#include "family/problem.h"
#include "family/variant_pattern.h"

namespace mgtune {

inline constexpr std::size_t kMostUnitPatterns = 16;

// The patterns that are this variant at this binding: each parameter with a unit (Design::units) is
// its number in some of them, and in others the unit, times or over a power of two. The first has
// only numbers. At most kMostUnitPatterns. A value that no such expression gives is a number in
// all.
std::vector<VariantPattern> unit_patterns(const Variant& variant, const Binding& binding,
                                          const DeviceLimits& device);

}  // namespace mgtune
