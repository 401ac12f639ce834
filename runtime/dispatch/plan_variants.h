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
  std::vector<std::unique_ptr<LoadedVariant>> variants;  // those of tuned rows, rules, ladder
  std::vector<DispatchRow> rows;                         // the problems that count most first
  std::unique_ptr<const PlanRules> rules;                // null: there are none
  std::vector<std::vector<std::size_t>> ranked;          // of each leaf of the rules: variants
  std::vector<LadderPlace> ladder;                       // of each variant
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
  const std::optional<Variant>& only;  // the only variant; nullopt: the variants described below
};

// Selects, builds and loads these variants:
//  - those of the tuned problems that are near some shape in the ranges;
//  - for each leaf of the rules that such a shape can reach, the best one;
//  - from the ladder, the first one for aligned pointers and the first one for any pointers, at the
//    ends and the middle of the ranges and at the tuned problems;
//  - for each shape of a sample of the ranges that none of these serves, another one of the ladder.
// If a variant fails, the next best one takes its place.
Result<PlanVariants> load_plan_variants(const PlanRequest& request);

}  // namespace mgtune
