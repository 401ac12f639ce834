#include "counters/launch_counting.h"

#include <algorithm>
#include <cmath>

#include "counters/chip_counters.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMinLaunches = 16;

Status count_set(const CounterSet& set, RangeCounter& counter, const CountedWork& work,
                 VariantCounters& counted) {
  const ChipCounters chosen = counters_of_chip(set, counter.host());
  counted.left_out.insert(counted.left_out.end(), chosen.left_out.begin(), chosen.left_out.end());
  if (chosen.metrics.empty()) return {};
  MGTUNE_ASSIGN(const MetricConfig config, counter.host().schedule(chosen.metrics));
  MGTUNE_ASSIGN(const std::vector<double> values, counter.count(config, chosen.metrics, work));
  counted.passes += config.passes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Counter& which = *chosen.counters[i];
    double value = values[i] * which.scale;
    if (which.kind == CounterKind::per_launch) value /= static_cast<double>(counted.launches);
    if (std::isfinite(value)) {
      counted.values.push_back({std::string(which.name), value});
    } else {  // a hit rate without an access
      counted.left_out.push_back(std::string(which.name) + ": nothing to divide by");
    }
  }
  return {};
}

}  // namespace

std::int64_t launches_in_range(std::int64_t buffer_sets) {
  const std::int64_t sets = std::max<std::int64_t>(1, buffer_sets);
  return (kMinLaunches + sets - 1) / sets * sets;
}

Result<VariantCounters> count_launches(RangeCounter& counter, Device& device, const TimedWork& work,
                                       std::int64_t buffer_sets, int tier) {
  if (tier < 1 || tier > kTiers) {
    return invalid_argument("no tier " + std::to_string(tier) + " of counters; there are 1 and " +
                            std::to_string(kTiers));
  }
  VariantCounters counted;
  counted.chip = counter.host().chip();
  counted.launches = launches_in_range(buffer_sets);
  const CountedWork all = [&]() -> Status {
    for (std::int64_t turn = 0; turn < counted.launches; ++turn) MGTUNE_TRY(work(turn, nullptr));
    return device.synchronize(nullptr);
  };
  // Runs once without counting. After that the kernels are loaded, and the caches are as after any
  // other pass.
  MGTUNE_TRY(all());
  for (const CounterSet& set : counter_sets()) {
    if (set.tier <= tier) MGTUNE_TRY(count_set(set, counter, all, counted));
  }
  if (!counted.values.empty()) return counted;
  return environment_error(counted.chip + " counts nothing that mgtune asks for");
}

}  // namespace mgtune
