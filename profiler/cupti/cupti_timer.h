// The primary timer of GPUs, by CUPTI's activity records: methods "rotating", "cold" and "hot".
// Calls are queued back to back; the time of a call is the span from the first start to the last
// end of its own kernels and memsets, so neither launch gaps between calls nor the cost of a clock
// are in it. A dependent launch, which starts before the call before it ends, counts from that end:
// of such a gap what it does not hide is in its time.

#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "cupti/activity_recorder.h"
#include "timing/cache_eviction.h"
#include "timing/held_stream.h"
#include "timing/timer.h"

namespace mgtune {

struct CuptiTimerParts {
  std::unique_ptr<ActivityRecorder> recorder;
  std::unique_ptr<HeldStream> stream;
  std::unique_ptr<ClockWatch> watch;        // may be null
  std::unique_ptr<CacheEviction> eviction;  // runs before each call, outside its time; may be null
};

// The timer takes all over. Timer::time() fails with environment when CUPTI loses records twice in
// a row, and with unsupported for work that launches nothing.
std::unique_ptr<Timer> make_cupti_timer(std::string method, CuptiTimerParts parts);

}  // namespace mgtune
