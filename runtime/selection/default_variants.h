// Which variants of the default ladder programs need. Pure functions.

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// The first variants of `ladder` (default_ladder()) that serve the problem: as it is, for any
// pointers that a caller may pass, and for any pointers with odd strides. The last is what runs if
// all others refuse. Each variant once; fewer if no variant serves one of the three. Variants that
// are not `usable` do not count.
std::vector<Variant> default_variants(const Problem& problem, std::span<const Variant> ladder,
                                      const DeviceLimits& device,
                                      const std::function<bool(const Variant&)>& usable);

}  // namespace mgtune
