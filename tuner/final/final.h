// The final of one problem: a measure worker times the fastest variants and the default again, in
// rounds of random order. The fastest variant has two entries, and their difference shows the
// noise. The final is recorded with every sample. If a later sweep has the same entries, they are
// not timed again.

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/status.h"
#include "final/pick.h"
#include "store/views.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

struct FinalResult {
  std::optional<Pick> pick;
  // The contenders that crashed, hung or could not be launched in the final, and again in a run of
  // their own. They have this outcome now, although they had passed their checks and been measured
  // before. The final was held without them.
  std::vector<OutcomeRecord> expelled;
};

// The contenders that a final is held among: the fastest ones and the default.
std::vector<OutcomeRecord> choose_finalists(const SweepShared& shared, const TunedView& view,
                                            std::span<const OutcomeRecord> contenders);

// Each contender has a measurement. `view` has the problem's default and the timing method. With
// --counters, the hardware counters of the finalists are read too. If an entry crashes, hangs or
// cannot be launched, it is expelled, and the final is held again with the others.
//
// If `only_known`, nothing is timed: only a final that the store has between the same entries
// counts.
//
// There is no pick if there are fewer than two entries, if the sweep was asked to stop, or if the
// final failed for another reason (the summary has the reason). Then the caller decides by the
// single measurements of the contenders that were not expelled.
Result<FinalResult> hold_final(SweepShared& shared, const TunedView& view,
                               std::vector<OutcomeRecord> contenders, bool only_known = false);

}  // namespace mgtune
