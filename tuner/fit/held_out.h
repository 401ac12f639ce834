// Held-out problems: those that rules were not fitted to, and that were searched as well, so that
// their fastest variant is known. What rules lose there is what a user loses who tunes nothing.
// Pure functions.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/status.h"
#include "fit/loss_table.h"
#include "selection/rules.h"

namespace mgtune {

struct HeldOut {
  struct OneProblem {
    std::string problem;
    double loss = 0, ladder = 0;
  };
  std::vector<OneProblem> problems;  // by text
  LossSummary rules, ladder;
  // Problems whose variant by the rules has no time: it counts as kUnmeasuredLoss slower.
  std::size_t unmeasured = 0;
};

// The problems of `searched` that `fitted` does not have. The rules are looked up as a program does
// it: the first variant of the leaf that can serve the problem, otherwise the default ladder.
// invalid_argument if there is no such problem.
Result<HeldOut> held_out_losses(const FitData& fitted, const FitData& searched, const Rules& rules);

}  // namespace mgtune
