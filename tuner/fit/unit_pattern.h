// Unit patterns: a measured variant in terms of the problem at which it was measured. With the
// units of rmsnorm.forward, 256 threads per row of 4,096 elements with vectors of 8 are "hidden /
// VEC / 2". Rules name such patterns, so that a measurement at one size is useful at other sizes.
// Pure functions.

#pragma once

#include <cstddef>
#include <vector>

#include "family/problem.h"
#include "family/variant_pattern.h"

namespace mgtune {

inline constexpr std::size_t kMostUnitPatterns = 16;

// The patterns that stand for this variant at this binding. A parameter with a unit (Design::units)
// is a plain number in some of them; in others it is the unit, multiplied or divided by a power of
// two. The first pattern has numbers alone. At most kMostUnitPatterns. A value that no such
// expression gives is a number in all patterns. A boolean that is true, as its unit is, is the unit
// in all patterns: they differ on other GPUs only.
std::vector<VariantPattern> unit_patterns(const Variant& variant, const Binding& binding,
                                          const DeviceLimits& device);

}  // namespace mgtune
