// Plan: an operator with static dims, dtypes and flags bound, ready to launch any shape in its
// ranges.
//
// make() selects, builds and loads a few variants: those of tuned problems near the ranges, those
// of the rules, a ladder variant, and one that serves any alignment and stride. launch() looks up
// the variant for the dims, checks alignment and launches; it never compiles, allocates, locks or
// synchronizes. Immutable after make(): any number of threads launch one plan.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/shared_modules.h"
#include "family/problem.h"
#include "launch/launch_dims.h"
#include "launch/loaded_variant.h"
#include "selection/variant_selection.h"

namespace mgtune {

class Plan {
 public:
  // `ranges` has one entry per dynamic and hint dim in declared order. A dim whose default is used
  // at every launch has low > high. `modules` and the operator must outlive the plan; `builder` is
  // used only inside make(). Plans on one `modules` share what they load. A variant that does not
  // build or load, or that failed on this GPU, is left out, and explain() says so. It is an error
  // only if no variant is left. `strict` leaves out tuned variants whose build is not the one that
  // was measured. With `only`, the plan has this variant alone, whatever the evidence prefers.
  static Result<std::unique_ptr<Plan>> make(SharedModules& modules, Builder& builder,
                                            const Binding& binding,
                                            const std::vector<DimRange>& ranges,
                                            const Evidence& evidence, bool strict = false,
                                            const std::optional<Variant>& only = {});
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // In arguments.dims, -1 means the dim's default. If no loaded variant serves the call:
  // unsupported, with the dims and the reason of each variant.
  Status launch(const LaunchArguments& arguments) const;

  // Enough for every shape in the ranges and every variant of the plan; this is proven
  // (launch/workspace_bound.h). A shape outside the ranges may need more. Then it is not served.
  LoadedVariant::WorkspaceSize workspace_size() const;

  // Zeroes the part of a new workspace that must start out zeroed. Launches leave it zeroed.
  Status init_workspace(void* workspace, Stream stream) const;

  struct Explanation {
    std::string variant;
    SelectionStep step;
    std::string reason;
    double expected_ns = 0;          // measured at these dims; 0 if nobody measured them
    std::vector<std::string> lines;  // of a choice by rules: the path in the tree, the loss
    std::string improvement;         // what would improve the choice; "" if nothing would
  };
  Result<Explanation> explain(const std::vector<std::int64_t>& dims) const;

  const Binding& binding() const;
  std::vector<std::string> variants() const;  // the loaded ones, tuned ones first

 private:
  struct State;
  explicit Plan(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace mgtune
