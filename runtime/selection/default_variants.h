// Which variants of the default ladder programs need. Pure functions.

#pragma once

#include <span>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// The first variants of `ladder` (default_ladder(), or a part of it) that serve the problem: as it
// is, for any pointers that a caller may pass, and for any pointers with odd strides. The last is
// what runs if all others refuse. Each variant once; fewer if none serves one of the three.
std::vector<Variant> default_variants(const Problem& problem, std::span<const Variant> ladder,
                                      const DeviceLimits& device);

}  // namespace mgtune
