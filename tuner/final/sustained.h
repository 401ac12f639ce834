// What a sweep does differently for kernels whose speed follows the clocks of the GPU.
//
// A sweep times a variant in bursts of milliseconds, and the GPU keeps its highest clock. A program
// runs kernels without pauses. If they need more power than the GPU's limit, the GPU lowers its
// clocks within 0.2 s. On an H200, attention then takes up to 8 % longer, and the slowdown differs
// from variant to variant. So a variant that is 3 % slower in bursts can be 1 % faster in programs.
// Kernels that wait for memory hardly notice.
//
// NVML reports the average power of the last second, so the bursts do not show which kernel will
// meet the limit. Instead, the number of operations per byte of the problem decides. If it is high,
// racing leaves more variants for the final, and the final runs every variant alone for some time
// before each of its samples.
//
// Kernels with wgmma meet the limit even in bursts. A sweep measures the first variant of a
// problem, the default, on a GPU that may be cool and runs at 1,980 MHz, and the others at 1,500
// MHz, where each takes a quarter longer. So a sweep compares the times of problems that arithmetic
// limits at one clock: as they would be if they were inversely proportional to the SM clock. That
// is too much for a kernel that waits for L2, and does not credit a variant for needing less power;
// both are left to the final. Pure functions.

#pragma once

#include "device/device.h"
#include "store/views.h"

namespace mgtune {

// Whether lower clocks may change which variant of the problem is the fastest. Never in emulation.
bool depends_on_clocks(const TunedView& problem, DeviceKind device);

// Whether the time of the problem is about inversely proportional to the SM clock. Never in
// emulation.
bool follows_clock(const TunedView& problem, DeviceKind device);

// By what the times of a measurement at these clocks are to be multiplied, to be as they would be
// if the SM clock had been `sm_mhz`. 1 if one of the clocks is not known (0).
double factor_to_clock(const ClockRecord& clocks, double sm_mhz);

// Racing stops a variant whose time is above this. `fastest_q3_ns` is the upper quartile of the
// fastest measurement so far.
double race_limit_ns(double fastest_q3_ns, const TunedView& problem, DeviceKind device);

}  // namespace mgtune
