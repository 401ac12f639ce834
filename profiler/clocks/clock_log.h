// ClockLog: the clocks during one measurement, and whether samples must be taken again because the
// GPU held its clocks down. One thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clocks/clock_watch.h"

namespace mgtune {

struct ClockSummary {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;  // medians of the readings
  std::uint64_t reasons = 0;  // of all readings that showed the clocks held down
  // Flagged samples: they were taken again, or kept when the time for repeating was used up.
  std::int64_t throttled_samples = 0;
};

class ClockLog {
 public:
  // `watch` may be null; then nothing is known and nothing is flagged. Samples are repeated until
  // the repetitions have taken `patience_ns`. Without this limit a GPU whose own load keeps it at
  // the power cap would never finish.
  ClockLog(ClockWatch* watch, double patience_ns) : watch_(watch), patience_ns_(patience_ns) {}

  // Reads the clocks. Returns true if these samples, which took `took_ns` together, must be dropped
  // and taken again.
  bool repeats(std::int64_t samples, double took_ns);

  ClockSummary summary() const;
  std::string note() const;  // "" unless samples with low clocks were kept

 private:
  ClockWatch* watch_;
  double patience_ns_;
  double repeated_ns_ = 0;
  std::int64_t kept_ = 0;
  std::vector<ClockSample> readings_;
  ClockSummary flagged_;  // its reasons and throttled_samples
};

}  // namespace mgtune
