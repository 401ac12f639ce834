// The final of one problem: the fastest variants and the default timed in random round robin by the
// measure worker, together with a second entry of the first, whose difference from it is the
// noise. It is recorded with every sample; the same entries are not timed again.

#pragma once

#include <optional>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "final/pick.h"
#include "store/records.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

struct FinalResult {
  std::optional<Pick> pick;
  // The contenders that crashed, hung or could not be launched in the final and again alone, with
  // that outcome. They passed their checks and were measured before that, and are fit for nothing
  // all the same; the final was held without them.
  std::vector<OutcomeRecord> expelled;
};

// `view` is of the problem: its default and the method. With --counters the finalists are counted
// too. Where an entry breaks the final off, it is expelled, and the final held again among the
// others. No pick where there is nothing to decide (fewer than two contenders) and where the final
// could not be held: on a request to stop, or with the reason in the summary. What single
// measurements say of those not expelled stands then.
Result<FinalResult> hold_final(SweepShared& shared, const Problem& problem, const TunedView& view,
                               std::vector<OutcomeRecord> contenders);

}  // namespace mgtune
