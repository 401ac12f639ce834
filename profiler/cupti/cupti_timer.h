// The primary timer of GPUs: methods "rotating", "cold" and "hot", by CUPTI's activity records.
// Calls are queued one after the other. Time runs from the start of a call's first kernel or memset
// to the end of its last one. So neither launch gaps between calls nor the cost of a clock are
// included. A dependent launch starts before the previous call ends; its time runs from the end of
// the previous call, so the part of its prologue that is not hidden counts.

#pragma once

#include <memory>
#include <string>

#include "clocks/clock_watch.h"
#include "core/status.h"
#include "cupti/activity_recorder.h"
#include "timing/cache_eviction.h"
#include "timing/held_stream.h"
#include "timing/timer.h"

namespace mgtune {

// `watch` may be null, and so may `eviction`, which runs before each call, outside its time.
// Timer::time() fails with environment if CUPTI loses records twice in a row, and with unsupported
// if the work launches nothing.
std::unique_ptr<Timer> make_cupti_timer(std::string method,
                                        std::unique_ptr<ActivityRecorder> recorder,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch = nullptr,
                                        std::unique_ptr<CacheEviction> eviction = nullptr);

}  // namespace mgtune
