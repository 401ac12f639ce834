#include "timing/early_race.h"

#include <optional>

#include "timing/statistics.h"

namespace mgtune {

bool EarlyRace::is_lost(std::span<const double> samples_ns, const RaceMargin& margin) {
  if (!is_on() || static_cast<std::int64_t>(samples_ns.size()) < samples_needed()) return false;
  const double limit_ns = budget_.stop_above_ns * (1 + margin.part) + margin.ns;
  const double median_low = summarise(samples_ns).median_low;
  if (median_low <= limit_ns) return false;
  const bool full_speed = clocks_.shows_full_speed();
  const std::optional<double> slowdown = clocks_.slowdown(budget_.stop_above_mhz);
  if (slowdown.has_value() ? median_low <= limit_ns * *slowdown : !full_speed) return false;
  lost_.assign(samples_ns.begin(), samples_ns.end());
  return true;
}

}  // namespace mgtune
