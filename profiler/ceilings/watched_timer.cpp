#include "ceilings/watched_timer.h"

#include <algorithm>
#include <utility>

#include "timing/statistics.h"

namespace mgtune {

Result<Timing> WatchedTimer::time(const TimedWork& work, const TimingBudget& budget) {
  Result<Timing> timing = timer_.time(work, budget);
  if (watch_ != nullptr && timing.ok()) samples_.push_back(watch_->read());
  return timing;
}

ClockSample WatchedTimer::clocks() const {
  ClockSample clocks;
  if (samples_.empty()) return clocks;
  for (double ClockSample::*field : {&ClockSample::sm_mhz, &ClockSample::memory_mhz,
                                     &ClockSample::power_w, &ClockSample::temperature_c}) {
    std::vector<double> values;
    for (const ClockSample& sample : samples_) values.push_back(sample.*field);
    clocks.*field = summarise(values).median;
  }
  for (const ClockSample& sample : samples_) clocks.reasons |= sample.reasons;
  return clocks;
}

std::int64_t WatchedTimer::throttled() const {
  return std::count_if(samples_.begin(), samples_.end(),
                       [](const ClockSample& sample) { return is_throttled(sample.reasons); });
}

}  // namespace mgtune
