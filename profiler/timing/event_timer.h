// The timers of GPUs that need no CUPTI: CUDA events around batches of calls over the rotating
// buffer sets. They work together with any other tool.
//
// "rotating_events" is the fall-back of "rotating". The gaps between launches (0.8 us each on an
// H200) are included, so it is a method of its own.
//
// "graph" captures many calls into one CUDA graph. The time of a call is the time of a replay
// divided by the number of calls. This method ranks variants with programmatic dependent launch,
// whose calls overlap, and problems under 20 us, in the way in which a program with graphs runs
// them. A replay takes about 1 ms, so the 2 us of its events are 0.2 %. It never uses CUPTI, so all
// rows of the method can be compared. A timer that records with CUPTI in the same process would
// slow the kernels down, so have only one timer at a time.

#pragma once

#include <memory>

#include "clocks/clock_watch.h"
#include "device/cuda/cuda_driver.h"
#include "timing/held_stream.h"
#include "timing/timer.h"

namespace mgtune {

// `method` is one of the two; Timing::note says method.reason. `driver` must outlive the timer, and
// `watch` may be null.
std::unique_ptr<Timer> make_event_timer(const CudaDriver& driver, const TimingMethod& method,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch = nullptr);

}  // namespace mgtune
