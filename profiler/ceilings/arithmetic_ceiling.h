// Arithmetic ceilings: how many floating-point operations a second a kernel reaches that does
// nothing else, the best of several launch shapes, in bursts: a power limit shows after some tenths
// of a second, and kernels are timed in shorter bursts.

#pragma once

#include "build/builder.h"
#include "ceilings/arithmetic_kernel.h"
#include "ceilings/measured_ceiling.h"
#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// By the timer's method, in launches of a millisecond and more. internal when the kernel's results
// are not what its arithmetic gives.
Result<MeasuredCeiling> measure_arithmetic(Device& device, Builder& builder, Timer& timer,
                                           const ArithmeticKernel& kernel);

}  // namespace mgtune
