// WatchedTimer: a timer that reads the GPU's clocks after everything it times, while the GPU is
// still as that left it. One thread; timer and watch outlive it.

#pragma once

#include <string>
#include <vector>

#include "clocks/clock_watch.h"
#include "timing/timer.h"

namespace mgtune {

class WatchedTimer final : public Timer {
 public:
  // Without a watch (null) it only times.
  WatchedTimer(Timer& timer, ClockWatch* watch) : timer_(timer), watch_(watch) {}

  const std::string& method() const override { return timer_.method(); }
  Result<Timing> time(const TimedWork& work, const TimingBudget& budget) override;

  // The median of each reading, and every reason that was given; zeros where nobody watched.
  ClockSample clocks() const;
  std::int64_t throttled() const;  // of the timings: after how many the clocks were held down

 private:
  Timer& timer_;
  ClockWatch* watch_;
  std::vector<ClockSample> samples_;
};

}  // namespace mgtune
