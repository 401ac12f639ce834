// The fall-back timer of GPUs: method "rotating_events", CUDA events around batches of calls over
// the rotating buffer sets. The gaps between launches (0.8 us each on an H200) are included, so it
// is a method of its own. It needs no CUPTI, so it works together with any other tool.

#pragma once

#include <memory>
#include <string>

#include "device/cuda/cuda_driver.h"
#include "timing/held_stream.h"
#include "timing/timer.h"

namespace mgtune {

// `reason`: why CUPTI is not used, for Timing::note. `driver` must outlive the timer.
std::unique_ptr<Timer> make_event_timer(const CudaDriver& driver,
                                        std::unique_ptr<HeldStream> stream,
                                        const std::string& reason,
                                        std::unique_ptr<ClockWatch> watch = nullptr);

}  // namespace mgtune
