// Ceilings: the highest rates of a GPU, as measured on it. A share of peak names the ceiling that
// it refers to. One thread.
//
// kind                      rate                    of
// copy                      bytes per second        reading and writing `bytes` together
// read                      bytes per second        reading `bytes`
// fp32                      operations per second   fused multiply-adds
// mma_f16, mma_bf16         operations per second   mma.sync, fp32 accumulators
// wgmma_f16, wgmma_bf16     operations per second   wgmma (sm_90a), fp32 accumulators

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "build/builder.h"
#include "clocks/clock_log.h"
#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

struct MeasuredCeiling {
  double rate = 0;      // bytes or floating-point operations a second, of the median
  ClockSummary clocks;  // while the fastest shape was timed
};

const std::vector<std::string>& ceiling_kinds();  // in the order above

bool is_memory_ceiling(const std::string& kind);  // copy or read: one for each number of bytes

// Uses the timer's method. `bytes` is for copy and read, and ignored otherwise. unsupported, with
// the reason, if the device does not have such a unit. invalid_argument for an unknown kind.
// internal if a kernel did not do its work.
Result<MeasuredCeiling> measure_ceiling(Device& device, Builder& builder, Timer& timer,
                                        const std::string& kind, std::int64_t bytes);

}  // namespace mgtune
