// VariantCost: how long a variant of a problem is likely to take. It is a rough estimate without a
// measurement: it makes the shards of a sweep equal, and says how many tasks a fleet needs. What
// matters is how problems compare with each other. Pure functions.

#pragma once

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

struct VariantCost {
  double compile_seconds = 0;  // once for all problems that share the build
  double measure_seconds = 0;  // with the check
};

Result<VariantCost> estimated_cost(const Problem& problem, DeviceKind device);

}  // namespace mgtune
