// Ceilings: the highest rates of a GPU, as measured on it. A share of peak names the ceiling that
// it refers to. Small copies reach less of the memory's rate than large ones, so a share of `copy`
// or `read` compares equal numbers of bytes. A kernel that reads much more than it writes
// (attention decode, a reduction) may be faster than `copy`, because memory that only reads never
// has to switch direction. One thread.
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
#include "core/status.h"
#include "device/device.h"
#include "store/records.h"
#include "timing/timer.h"

namespace mgtune {

const std::vector<std::string>& ceiling_kinds();  // in the order above

bool is_memory_ceiling(const std::string& kind);  // copy or read: one for each number of bytes

// Uses the timer's method. `bytes` is for copy and read, and ignored otherwise. The rate is that of
// the median time, and the clocks are those while the fastest shape was timed. unsupported, with
// the reason, if the device does not have such a unit. invalid_argument for an unknown kind.
// internal if a kernel did not do its work.
Result<CeilingRecord> measure_ceiling(Device& device, Builder& builder, Timer& timer,
                                      const std::string& kind, std::int64_t bytes);

// The part of measure_ceiling() that measures `copy` and `read`: the fastest of several kernels and
// launch shapes that copy `bytes` (read and written together, rounded to 32) or read `bytes`
// (rounded to 16), over random data. The data is in rotating sets if the timer's method rotates. Of
// the record, only the rate and the clocks are set.
Result<CeilingRecord> measure_memory(Device& device, Builder& builder, Timer& timer, bool is_copy,
                                     std::int64_t bytes);

}  // namespace mgtune
