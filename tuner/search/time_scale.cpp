#include "search/time_scale.h"

#include <algorithm>
#include <cmath>

namespace mgtune {

TimeScale::TimeScale(const std::vector<Observation>& observations) {
  std::vector<double> times;
  double failures = 0;
  for (const Observation& observation : observations) {
    if (observation.state == Observation::State::pending) continue;
    if (observation.state == Observation::State::failed) {
      ++failures;
      continue;
    }
    times.push_back(observation.log_time);
    if (observation.state == Observation::State::ok) best = std::min(best, times.back());
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  cap = median + std::max(median - best, 0.0) + 0.01;
  double sum = failures * cap;
  double squares = failures * cap * cap;
  for (const double time : times) {
    const double capped = std::min(time, cap);
    sum += capped;
    squares += capped * capped;
  }
  const double count = failures + static_cast<double>(times.size());
  mean = sum / count;
  deviation = std::sqrt(std::max(squares / count - mean * mean, 1e-12));
}

double TimeScale::normalized(double log_time) const {
  return (std::min(log_time, cap) - mean) / deviation;
}

Target TimeScale::target(const Observation& observation) const {
  switch (observation.state) {
    case Observation::State::ok:
      return {Target::Kind::known, normalized(observation.log_time)};
    case Observation::State::failed:
      return {Target::Kind::known, normalized(cap)};
    case Observation::State::at_least:
      return {Target::Kind::at_least, normalized(observation.log_time)};
    case Observation::State::pending:
      break;
  }
  return {};
}

}  // namespace mgtune
