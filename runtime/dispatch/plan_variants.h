// Selects, builds and loads the variants of a plan. Plan then launches them. One thread at a
// time per builder. Only loading locks the device (SharedModules).

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/shared_modules.h"
#include "dispatch/dispatch_table.h"
#include "dispatch/plan.h"
#include "launch/loaded_variant.h"
#include "selection/variant_selection.h"

namespace mgtune {

struct PlanVariants {
  std::vector<std::unique_ptr<LoadedVariant>> variants;  // tuned ones first, then the ladder's
  std::vector<DispatchRow> rows;                         // best first
  std::vector<std::string> left_out;                     // a sentence for each that failed
};

// Everything that a plan is made from. The references must be valid during the call.
struct PlanRequest {
  SharedModules& modules;
  Builder& builder;
  const Binding& binding;
  const std::vector<DimRange>& ranges;
  const Evidence& evidence;
  bool strict;
};

// Looks at points of the ranges: the ends, the middle, and measured dims clamped into them. If the
// measurements of the GPU say something about other problems, it looks at points in between as
// well. It chooses the few variants that together lose the least time over all points, and for
// every point the first of the ladder, for aligned and for any pointers. It builds and loads them,
// and replaces a variant that fails by the next best.
Result<PlanVariants> load_plan_variants(const PlanRequest& request);

}  // namespace mgtune
