// The read ceiling: the rate of the fastest read of so many bytes. A kernel that reads much more
// than it writes (attention decode, a reduction) may be faster than the copy ceiling, because
// memory that only reads never has to switch direction.

#pragma once

#include <cstdint>

#include "build/builder.h"
#include "ceilings/measured_ceiling.h"
#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// The fastest of several kernels and launch shapes that read `bytes` (rounded to 16), by the
// timer's method, over random data. The data is in rotating sets if the method rotates. internal if
// a kernel did not read all of it.
Result<MeasuredCeiling> measure_read(Device& device, Builder& builder, Timer& timer,
                                     std::int64_t bytes);

}  // namespace mgtune
