// What a sweep does differently for kernels that are bound by the power of the GPU.
//
// A sweep times a variant in bursts of milliseconds, and the GPU keeps its highest clock. A program
// runs kernels without pauses. If these need more power than the GPU's limit, it lowers the clocks
// within some tenths of a second: attention on an H200 then takes 2 to 8 % longer, each variant by
// another amount. So a variant that is 2 % slower in bursts can be 2 % faster in programs.
//
// Near the limit, racing leaves more variants for the final, and in the final every variant runs
// alone for some time before each of its samples. Pure functions.

#pragma once

#include "store/records.h"

namespace mgtune {

// Whether the power of the measurement is so close to the limit that the kernel may exceed it when
// it runs without pauses. False if one of the two is not known (0).
bool is_near_power_limit(const ClockRecord& clocks, double power_limit_w);

// Racing stops a variant whose time is above this. `fastest` is the fastest measurement so far.
double race_limit_ns(const MeasurementRecord& fastest, double power_limit_w);

}  // namespace mgtune
