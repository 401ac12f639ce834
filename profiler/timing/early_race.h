// EarlyRace: whether work is so slow that it loses its race before the GPU has warmed up. Most
// variants of a sweep are 10 % slower than the fastest, or more. A handful of launches shows that;
// the warm-up and the samples of the full measurement would take ten times as long.
//
// There are two looks, each at the 95 % interval of the median of some samples. The whole interval
// must lie above the race's limit by a margin, since the GPU has not warmed up:
//
//   before the warm-up   single calls      10 % and 0.3 us above the limit
//   its first window     some 20 batches   5 % above the limit
//
// If the limit follows the clock (TimingBudget::stop_above_mhz), it is raised to that of the clock
// now. Otherwise a look counts only if the GPU runs at full clocks (clocks/full_clocks.h). If it
// loses nothing, the measurement goes on as if there were no looks.
//
// What that means for a variant that is not slower than the limit plus the margin: an interval lies
// above it with a probability of 2.5 % at most, whatever the distribution of the samples, if they
// are independent. So both looks together eliminate it wrongly in at most 5 % of all cases. A
// variant that is as fast as the limit loses only if nearly all samples of a look are slow by the
// margin: with normal noise of 3 %, less than once in 10^7 measurements. In the recorded sweeps of
// an H200 (results/h200/recorded) the noise of a sample is 1.3 % for the middle variant, and at
// most 2.6 % for 95 % of them. tests/unit/profiler/early_race_test.cpp counts wrong eliminations.
//
// One thread.

#pragma once

#include <span>
#include <vector>

#include "clocks/clock_log.h"
#include "timing/timer.h"

namespace mgtune {

struct RaceMargin {
  double part = 0;  // of the limit
  double ns = 0;    // in addition
};
inline constexpr RaceMargin kBeforeWarmUp{.part = 0.10, .ns = 300};
inline constexpr RaceMargin kFirstWindow{.part = 0.05, .ns = 0};

class EarlyRace {
 public:
  // Both must outlive it.
  EarlyRace(const TimingBudget& budget, ClockLog& clocks) : budget_(budget), clocks_(clocks) {}

  bool is_on() const { return budget_.stop_above_ns > 0; }

  // How many samples a look needs.
  std::int64_t samples_needed() const { return budget_.min_samples; }

  // Whether work with these samples has lost. Reads the clocks only if the samples say so. Fewer
  // samples than a look needs never lose.
  bool is_lost(std::span<const double> samples_ns, const RaceMargin& margin);

  // The samples that lost; empty if none did.
  const std::vector<double>& lost() const { return lost_; }

 private:
  const TimingBudget& budget_;
  ClockLog& clocks_;
  std::vector<double> lost_;
};

}  // namespace mgtune
