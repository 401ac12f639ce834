// Which variants of the default ladder programs need. Pure functions.

#pragma once

#include <span>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// Up to three variants of `ladder` (default_ladder(), or a part of it): the first one that serves
// the problem as it is; the first one that serves it for any pointers that a caller may pass; and
// the first one that also serves odd strides, for any pointers. The last one runs if all others
// refuse. Each variant is in the result once. There are fewer if none serves one of the three
// cases.
std::vector<Variant> default_variants(const Problem& problem, std::span<const Variant> ladder,
                                      const DeviceLimits& device);

}  // namespace mgtune
