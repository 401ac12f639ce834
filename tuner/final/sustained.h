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
// Kernels with wgmma meet the limit even in bursts. Then a sweep measures its first variant, the
// default, on a cool GPU at 1,980 MHz, and the variants after it at 1,500 MHz, where each takes a
// quarter longer. So a sweep compares times at one clock: it takes the times as they would be if
// they were inversely proportional to the SM clock. That is too much for a kernel that waits for L2
// or memory, and does not credit a variant for needing less power; both are left to the final. Pure
// functions.

#pragma once

#include "device/device.h"
#include "store/views.h"

namespace mgtune {

// Whether lower clocks may change which variant of the problem is the fastest. Never in emulation.
bool depends_on_clocks(const TunedView& problem, DeviceKind device);

// The times of a measurement as they would be if the SM clock had been `sm_mhz`. They do not change
// if one of the clocks is not known (0).
MeasurementRecord at_clock(MeasurementRecord measurement, double sm_mhz);

// Racing stops a variant whose time is above this. `fastest_q3_ns` is the upper quartile of the
// fastest measurement so far.
double race_limit_ns(double fastest_q3_ns, const TunedView& problem, DeviceKind device);

}  // namespace mgtune
