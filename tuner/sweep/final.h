// The final of one problem: the fastest variants and the default timed in random round robin by the
// measure worker, together with a second entry of the first, whose difference from it is the
// noise. It is recorded with every sample; the same entries are not timed again.

#pragma once

#include <optional>
#include <span>

#include "core/status.h"
#include "store/records.h"
#include "sweep/pick.h"
#include "sweep/problem_sweep.h"

namespace mgtune {

// `view` names the problem, its default and the method. nullopt where there is nothing to decide
// (fewer than two contenders) and where the final could not be held: on a request to stop, or with
// the reason in the summary. What single measurements say stands then.
Result<std::optional<Pick>> hold_final(SweepShared& shared, const TunedView& view,
                                       std::span<const Contender> contenders);

}  // namespace mgtune
