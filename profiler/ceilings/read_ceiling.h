// The read ceiling: how fast the fastest read of so many bytes is. A kernel that reads far more
// than it writes (decoding attention, a reduction) may pass the copy ceiling: memory that only
// reads need not turn around.

#pragma once

#include <cstdint>

#include "build/builder.h"
#include "ceilings/measured_ceiling.h"
#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// The fastest of several kernels and launch shapes that read `bytes` (rounded to 16), by the
// timer's method, over rotating sets of random data. internal when one did not read them all.
Result<MeasuredCeiling> measure_read(Device& device, Builder& builder, Timer& timer,
                                     std::int64_t bytes);

}  // namespace mgtune
