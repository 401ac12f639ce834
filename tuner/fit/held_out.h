// Held-out problems: problems that rules were not fitted to, but that were searched, so that their
// fastest variant is known. The loss of the rules there is the loss of a user who does not tune.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/status.h"
#include "fit/fit_data.h"
#include "selection/rules.h"

namespace mgtune {

struct HeldOut {
  struct OneProblem {
    std::string problem;
    double loss = 0, ladder = 0;
  };
  std::vector<OneProblem> problems;  // by text
  LossSummary rules, ladder;
  // At so many problems the variant that the rules or the ladder choose has no time. Its loss is
  // estimated from all measurements, also those that were held out.
  std::size_t estimated = 0, ladder_estimated = 0;
};

// The problems of `searched` that `fitted` does not have. The rules are applied as a program
// applies them: the first variant of the leaf that can serve the problem, or the default ladder if
// there is none. A variant that failed on the GPU counts as twice as slow as the fastest one.
// invalid_argument if there is no such problem.
Result<HeldOut> held_out_losses(const FitData& fitted, const FitData& searched, const Rules& rules);

}  // namespace mgtune
