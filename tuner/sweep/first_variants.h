// Finds the variants with which the search of a problem begins: those of --try-first, then those
// that rules name for the problem. One thread.

#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"
#include "sweep/sweep.h"

namespace mgtune {

// Each variant once, best first. At most four are from rules: from those beside the database, or
// installed ones, of this GPU or of another one. Rules that cannot be read are ignored, because a
// sweep does not depend on them.
std::vector<Variant> first_variants(const VariantLists& try_first, const std::string& database,
                                    const Problem& problem, const DeviceInfo& device);

}  // namespace mgtune
