// Reads the hardware counters of a problem's finalists, for sweeps with --counters. A separate
// worker reads them on the first GPU of the sweep, and the caller waits for it. One thread.

#pragma once

#include <span>
#include <string>

#include "core/status.h"
#include "store/views.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

// Records the counters of the finalists that have none yet, if the sweep counts. The text says
// which finalists have no counters and why, or how the counting was incomplete; "" if nothing is
// missing. If the machine refused to count for two problems in a row, the sweep does not ask it
// again. A Status is a failure of the store.
Result<std::string> count_finalists(SweepShared& shared, const TunedView& view,
                                    std::span<const OutcomeRecord> finalists);

}  // namespace mgtune
