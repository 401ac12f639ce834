// The primary timer of GPUs: method "rotating" by CUPTI's activity records. Calls are queued back
// to back over the rotating buffer sets; the time of a call is the span from the first start to the
// last end of its own kernels and memsets, so neither launch gaps between calls nor the cost of a
// clock are in it.

#pragma once

#include <memory>

#include "core/status.h"
#include "timing/activity_recorder.h"
#include "timing/held_stream.h"
#include "timing/timer.h"

namespace mgtune {

// The timer takes all over. Timer::time() fails with environment when CUPTI loses records twice in
// a row, and with unsupported for work that launches nothing.
std::unique_ptr<Timer> make_cupti_timer(std::unique_ptr<ActivityRecorder> recorder,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch = nullptr);

}  // namespace mgtune
