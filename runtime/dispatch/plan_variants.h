// Selects, builds and loads the variants of a plan. Plan then launches them. One thread at a
// time per builder. Only loading locks the device (SharedModules).

#pragma once

#include <memory>
#include <optional>
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
  std::vector<DispatchRow> rows;                         // the problems that count most first
  std::unique_ptr<const PlanRules> rules;                // null: there are none
  std::vector<std::vector<std::size_t>> ranked;          // of each leaf of the rules: variants
  std::vector<std::size_t> ladder_places;                // of each variant, see DispatchTable
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
  const std::optional<Variant>& only;  // of the plan; nullopt: as below
};

// Takes the variants of the tuned problems that are near some shape in the ranges, the best of the
// rules for the leaves that such a shape can reach, and for the ends, the middle and the tuned
// problems the first of the ladder, for aligned and for any pointers. It builds and loads them, and
// replaces a variant that fails by the next best.
Result<PlanVariants> load_plan_variants(const PlanRequest& request);

}  // namespace mgtune
