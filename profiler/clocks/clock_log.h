// ClockLog: the clocks during one measurement, and whether samples must be taken again because the
// GPU held its clocks down. One thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clocks/clock_watch.h"
#include "clocks/full_clocks.h"
#include "store/records.h"

namespace mgtune {

class ClockLog {
 public:
  // `watch` may be null; then nothing is known and nothing is flagged. `full` learns from the
  // readings after samples; it belongs to the GPU and outlives the log. Samples are repeated until
  // the repetitions have taken `patience_ns`. Without this limit a GPU whose own load keeps it at
  // the power cap would never finish.
  ClockLog(ClockWatch* watch, FullClocks& full, double patience_ns)
      : watch_(watch), full_(full), patience_ns_(patience_ns) {}

  // Reads the clocks, for a look at samples that may end the measurement. Whether the GPU runs at
  // full speed; false if that is not known.
  bool shows_full_speed();

  // Reads the clocks. Returns true if these samples, which took `took_ns` together, must be dropped
  // and taken again.
  bool repeats(std::int64_t samples, double took_ns);

  // How many times as long a kernel whose speed follows the SM clock takes now as at `since_mhz`:
  // at least 1. Now is the last look, or the samples that were kept after it. nullopt if one of the
  // clocks is not known (0).
  std::optional<double> slowdown(double since_mhz) const;

  // The medians of the readings after samples that were kept; if there are none after the last
  // look, that look. Throttled samples were taken again, or were kept because the time for
  // repeating was used up.
  ClockRecord summary() const;
  std::string note() const;  // "" unless samples with low clocks were kept

 private:
  ClockWatch* watch_;
  FullClocks& full_;
  double patience_ns_;
  double repeated_ns_ = 0;
  std::int64_t throttled_samples_ = 0, kept_ = 0;
  std::uint64_t reasons_ = 0;          // of all readings that showed the clocks held down
  std::vector<ClockSample> readings_;  // not those after samples that were dropped
  std::optional<ClockSample> look_;    // until there are samples
};

}  // namespace mgtune
