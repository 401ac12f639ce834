// The counters of a launch. All sets of a tier count many launches on rotating buffer sets as one
// range. A sum is divided by the number of launches. So it does not matter what the first launch
// finds in the L2 cache, or what the last launch leaves there.

#pragma once

#include <cstdint>

#include "core/status.h"
#include "counters/range_counter.h"
#include "device/device.h"
#include "store/records.h"
#include "timing/timer.h"

namespace mgtune {

// The number of launches in one range: at least 16, and the same number for every buffer set.
std::int64_t launches_in_range(std::int64_t buffer_sets);

// The work rotates through `buffer_sets` sets of buffers, on the null stream. invalid_argument for
// an unknown tier. environment if the chip has no counter of it, and as for RangeCounter. The
// work's own failures are returned unchanged. The values are in the order of the sets; `passes` is
// the sum over all sets, without the run before the first pass; `note` is empty.
Result<VariantCounters> count_launches(RangeCounter& counter, Device& device, const TimedWork& work,
                                       std::int64_t buffer_sets, int tier);

}  // namespace mgtune
