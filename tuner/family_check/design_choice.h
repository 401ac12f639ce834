// Chooses the variants and problems of an operator that `mgtune check` builds and runs. Pure
// functions.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/operator.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// The variant of the design that is checked at the problem: its first default that is valid there,
// otherwise its first valid variant. nullopt if it has none there.
std::optional<Variant> chosen_variant(const Problem& problem, int design,
                                      const DeviceLimits& limits);

// The problems for the cpu device: those for emulation. If the operator has none, its other
// problems with each dynamic dim at most 128.
Result<std::vector<Problem>> small_problems(const Operator& op);

struct ChosenRun {
  Problem problem;
  Variant variant;
};

// A few of the small problems, so that a check takes only seconds: they need at most two builds of
// the design, and there are at most two problems for each build.
std::vector<ChosenRun> chosen_runs(const std::vector<Problem>& problems, int design,
                                   const DeviceLimits& limits);

}  // namespace mgtune
