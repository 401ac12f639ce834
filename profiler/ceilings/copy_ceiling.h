// The copy ceiling: the rate of the fastest copy that reads and writes as many bytes as a problem
// must move. Small copies reach less of the memory's rate than large ones, so a share of the
// ceiling compares equal numbers of bytes.

#pragma once

#include <cstdint>

#include "build/builder.h"
#include "ceilings/measured_ceiling.h"
#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// The fastest of several copy kernels and launch shapes that together read and write `bytes_moved`
// (rounded to 32), by the timer's method, over random data. The data is in rotating sets if the
// method rotates. internal if a copy is wrong.
Result<MeasuredCeiling> measure_copy(Device& device, Builder& builder, Timer& timer,
                                     std::int64_t bytes_moved);

}  // namespace mgtune
