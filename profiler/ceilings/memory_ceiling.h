// Memory ceilings: the rate of the fastest copy and of the fastest read of so many bytes. Small
// copies reach less of the memory's rate than large ones, so a share of the ceiling compares equal
// numbers of bytes. A kernel that reads much more than it writes (attention decode, a reduction)
// may be faster than the copy ceiling, because memory that only reads never has to switch
// direction. One thread.

#pragma once

#include "ceilings/ceiling.h"

namespace mgtune {

enum class MemoryWork : std::uint8_t { copy, read };

// The fastest of several kernels and launch shapes that copy `bytes` (read and written together,
// rounded to 32) or read `bytes` (rounded to 16), by the timer's method, over random data. The data
// is in rotating sets if the method rotates. internal if a kernel did not copy or read all of it.
Result<MeasuredCeiling> measure_memory(Device& device, Builder& builder, Timer& timer,
                                       MemoryWork work, std::int64_t bytes);

}  // namespace mgtune
