// Counts hardware events for the finalists of a problem, in a separate process. If that is not
// allowed here, the result is a note, never a failure of the sweep.

#pragma once

#include <span>
#include <string>

#include "core/status.h"
#include "family/problem.h"
#include "final/pick.h"
#include "store/records.h"
#include "sweep/problem_sweep.h"

namespace mgtune {

// Records the counters of the finalists that have none yet. The text is "", or says why some have
// none and in which way the counting is less than complete. A machine that refused two problems is
// not asked again in the sweep. A Status is a failure of the store.
Result<std::string> count_finalists(SweepShared& shared, const Problem& problem,
                                    const TunedRecord& tuned, std::span<const Contender> finalists);

}  // namespace mgtune
