// Arithmetic ceilings: how many floating-point operations per second a kernel reaches that does
// nothing else. It is the best of several launch shapes, in short bursts: a power limit acts after
// some tenths of a second, and kernels are timed in shorter bursts too.

#pragma once

#include "build/builder.h"
#include "ceilings/arithmetic_kernel.h"
#include "ceilings/measured_ceiling.h"
#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// Uses the timer's method, with launches of a millisecond or more. internal if the results of the
// kernel are not those of its arithmetic.
Result<MeasuredCeiling> measure_arithmetic(Device& device, Builder& builder, Timer& timer,
                                           const ArithmeticKernel& kernel);

}  // namespace mgtune
