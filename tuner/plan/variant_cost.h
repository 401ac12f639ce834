// VariantCost: how long a variant of a problem will probably take. It is a rough estimate without
// any measurement. It is used to make the shards of a sweep equally long, and to compute how many
// tasks a fleet needs. It only has to be right for one problem relative to another. Pure functions.

#pragma once

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

struct VariantCost {
  double compile_seconds = 0;  // once for all problems that share the build
  double measure_seconds = 0;  // including the check
};

Result<VariantCost> estimated_cost(const Problem& problem, DeviceKind device);

}  // namespace mgtune
