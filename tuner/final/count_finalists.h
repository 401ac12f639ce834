// The hardware counters of the finalists of a problem, for sweeps with --counters. A worker of its
// own reads them, on the first GPU of the sweep, and the caller waits for it. One thread.

#pragma once

#include <span>
#include <string>

#include "core/status.h"
#include "store/views.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

// Records the counters of the finalists that have none yet, if the sweep counts. The text says
// which finalists have no counters and why, or how the counting was incomplete; "" if nothing is
// missing. If the machine refused two problems, it is not asked again in the sweep. A Status is a
// failure of the store.
Result<std::string> count_finalists(SweepShared& shared, const TunedView& view,
                                    std::span<const OutcomeRecord> finalists);

}  // namespace mgtune
