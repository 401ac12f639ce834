#include "timing/timer.h"

#include <cstdint>

#include "timing/statistics.h"

namespace mgtune {

StopRule stop_rule(const std::vector<double>& samples_ns, double measured_ns,
                   const TimingBudget& budget) {
  const auto count = static_cast<std::int64_t>(samples_ns.size());
  if (count < budget.min_samples) return StopRule::go_on;
  const SampleSummary summary = summarise(samples_ns);
  if (budget.stop_above_ns > 0 && summary.median_low > budget.stop_above_ns) {
    return StopRule::censored;
  }
  const double half_width = (summary.median_high - summary.median_low) / 2;
  const bool narrow_enough = half_width <= budget.relative_half_width * summary.median;
  const bool spent = count >= budget.max_samples || measured_ns >= budget.max_seconds * 1e9;
  return narrow_enough || spent ? StopRule::enough : StopRule::go_on;
}

TurnBudget TurnBudget::of_final(double settle_seconds) {
  // Samples of works that ran alone before scatter more than samples of short bursts: on an H200,
  // six rounds were too few to detect a difference of 1.7 %.
  constexpr std::int64_t kSustainedRounds = 10;
  TurnBudget budget;
  budget.settle_seconds = settle_seconds;
  if (settle_seconds > 0) budget.min_rounds = kSustainedRounds;
  return budget;
}

bool is_enough(std::int64_t rounds, double measured_ns, const TurnBudget& budget) {
  if (rounds < budget.min_rounds) return false;
  return rounds >= budget.max_rounds || measured_ns >= budget.max_seconds * 1e9;
}

}  // namespace mgtune
