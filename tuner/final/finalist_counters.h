// Counts what the hardware does for the finalists of a problem, in a process of its own. That it
// may not be done here is a note, never a failure of the sweep.

#pragma once

#include <span>
#include <string>

#include "core/status.h"
#include "family/problem.h"
#include "store/records.h"
#include "final/pick.h"
#include "sweep/problem_sweep.h"

namespace mgtune {

// Records the counters of those that have none yet. The text is "" or why some have none, and what
// the counting fell short of. A machine that refused two problems is not asked again in the sweep.
// A Status is the store's.
Result<std::string> count_finalists(SweepShared& shared, const Problem& problem,
                                    const TunedRecord& tuned, std::span<const Contender> finalists);

}  // namespace mgtune
