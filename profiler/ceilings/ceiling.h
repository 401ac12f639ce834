// Ceilings: what a GPU can do at most, as measured on it: a share of peak names the one that it is
// of. One thread.
//
// kind                      rate                  of
// copy                      bytes a second        reading and writing `bytes` together
// read                      bytes a second        reading `bytes`
// fp32                      operations a second   fused multiply-adds
// mma_f16, mma_bf16         operations a second   mma.sync, fp32 accumulators
// wgmma_f16, wgmma_bf16     operations a second   wgmma (sm_90a), fp32 accumulators

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "build/builder.h"
#include "ceilings/measured_ceiling.h"
#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

const std::vector<std::string>& ceiling_kinds();  // in the order above

bool is_memory_ceiling(const std::string& kind);  // copy or read: one for each number of bytes

// By the timer's method. `bytes` is of copy and read, ignored otherwise. unsupported,
// with the reason, where the device has no such thing; invalid_argument for another kind; internal
// when a kernel did not do its work.
Result<MeasuredCeiling> measure_ceiling(Device& device, Builder& builder, Timer& timer,
                                        const std::string& kind, std::int64_t bytes);

}  // namespace mgtune
