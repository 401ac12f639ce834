// Finds the variants that the rules beside the database, or installed rules, name for a problem. A
// search starts with them. One thread.

#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// At most four, best first. Empty if there are no rules of this GPU or another one. Rules that
// cannot be read are ignored, because a sweep does not depend on them.
std::vector<Variant> variants_of_rules(const std::string& database, const Problem& problem,
                                       const DeviceInfo& device);

}  // namespace mgtune
