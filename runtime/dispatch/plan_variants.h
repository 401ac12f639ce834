// Selects the variants of a plan, builds them and loads them: the planning half of Plan, apart from
// launching. One thread at a time per builder; only loading locks the device (SharedModules).

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

// Everything a plan is made from; the references outlive the call.
struct PlanRequest {
  SharedModules& modules;
  Builder& builder;
  const Binding& binding;
  const std::vector<DimRange>& ranges;
  const Evidence& evidence;
  bool strict;
};

// Looks at points of the ranges (ends, middle, and measured dims clamped into them; where the
// measurements of the GPU say something of other problems, points between them as well), takes the
// few variants that lose least over all points and the ladder's first for every point, aligned and
// not, and builds and loads them. What fails is replaced by the next best.
Result<PlanVariants> load_plan_variants(const PlanRequest& request);

}  // namespace mgtune
