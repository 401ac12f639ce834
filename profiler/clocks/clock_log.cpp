#include "clocks/clock_log.h"

#include <algorithm>

namespace mgtune {
namespace {

// The upper one of the two middle values: clocks come in steps, and the mean of two steps would be
// neither.
double median(const std::vector<ClockSample>& readings, double ClockSample::*field) {
  std::vector<double> values;
  values.reserve(readings.size());
  for (const ClockSample& reading : readings) values.push_back(reading.*field);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

bool ClockLog::shows_full_speed() {
  if (watch_ == nullptr) return false;
  look_ = watch_->read();
  return full_.holds(*look_);
}

bool ClockLog::repeats(std::int64_t samples, double took_ns) {
  if (watch_ == nullptr) return false;
  const ClockSample reading = watch_->read();
  readings_.push_back(reading);
  look_.reset();
  full_.see(reading);
  if (!is_throttled(reading.reasons)) return false;
  reasons_ |= reading.reasons;
  throttled_samples_ += samples;
  if (repeated_ns_ >= patience_ns_) {
    kept_ += samples;
    return false;
  }
  repeated_ns_ += took_ns;
  readings_.pop_back();
  return true;
}

std::optional<double> ClockLog::slowdown(double since_mhz) const {
  const double sm_mhz = look_               ? look_->sm_mhz
                        : readings_.empty() ? 0
                                            : median(readings_, &ClockSample::sm_mhz);
  if (since_mhz <= 0 || sm_mhz <= 0) return std::nullopt;
  return std::max(1.0, since_mhz / sm_mhz);
}

ClockRecord ClockLog::summary() const {
  ClockRecord summary;
  summary.throttle_reasons = throttle_text(reasons_);
  summary.throttled_samples = throttled_samples_;
  std::vector<ClockSample> readings = readings_;
  if (look_) readings = {*look_};
  if (readings.empty()) return summary;
  summary.sm_mhz = median(readings, &ClockSample::sm_mhz);
  summary.memory_mhz = median(readings, &ClockSample::memory_mhz);
  summary.power_w = median(readings, &ClockSample::power_w);
  summary.temperature_c = median(readings, &ClockSample::temperature_c);
  return summary;
}

std::string ClockLog::note() const {
  if (kept_ == 0) return "";
  return std::to_string(kept_) +
         " samples are of a GPU that held its clocks down: " + throttle_text(reasons_);
}

}  // namespace mgtune
