// A problem's row among the picks: before there is a winner, and with one. One thread.

#pragma once

#include <optional>

#include "core/status.h"
#include "family/problem.h"
#include "final/pick.h"
#include "space/space.h"
#include "store/records.h"

namespace mgtune {

struct SweepShared;

// All but the winner: what the problem is and moves, its default and the method of its times.
Result<TunedView> view_before_pick(SweepShared& shared, const Problem& problem, const Space& space);

// Makes `pick` the winner of `view`, in the store and among the summary's picks. A pick that the
// store has already stays that of the sweep that made it. nullopt withdraws the store's: it holds
// no longer.
Status record_pick(SweepShared& shared, const std::optional<Pick>& pick, TunedView& view);

}  // namespace mgtune
