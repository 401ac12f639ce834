// ClockLog: the clocks while one thing is measured, and whether samples have to be taken again
// because the GPU held its clocks down. One thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clocks/clock_watch.h"

namespace mgtune {

struct ClockSummary {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;  // medians of the readings
  std::uint64_t reasons = 0;           // of all readings that showed the clocks held down
  std::int64_t throttled_samples = 0;  // flagged: taken again, or kept once patience was spent
};

class ClockLog {
 public:
  // `watch` may be null: nothing is known then, and nothing flagged. Samples are repeated until
  // that has taken `patience_ns`: a GPU that its own load keeps at the power cap would never end.
  ClockLog(ClockWatch* watch, double patience_ns) : watch_(watch), patience_ns_(patience_ns) {}

  // Reads the clocks. True when these samples, which took `took_ns` together, are to be dropped and
  // taken again.
  bool repeats(std::int64_t samples, double took_ns);

  ClockSummary summary() const;
  std::string note() const;  // "" unless samples were kept that were taken with clocks held down

 private:
  ClockWatch* watch_;
  double patience_ns_;
  double repeated_ns_ = 0;
  std::int64_t kept_ = 0;
  std::vector<ClockSample> readings_;
  ClockSummary flagged_;  // its reasons and throttled_samples
};

}  // namespace mgtune
