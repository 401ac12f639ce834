#include "compare/noise_rule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

namespace mgtune {
namespace {

constexpr double kFalseAlarmsPerTable = 0.001;
constexpr double kZ95 = 1.959964;
constexpr std::size_t kMinRowsForWidening = 20;
constexpr double kMaxWidening = 4;
constexpr double kCutShortFactor = 3;

struct ClockNoise {
  double wander;              // standard deviation of a run's median between processes
  double smallest;            // difference that counts
  double assumed_half_width;  // of an interval that is not known
  double smallest_ns;         // difference that counts, whatever the time
  double cut_short_ns;        // likewise, if racing cut a time short
};

ClockNoise noise_of(Clock clock) {
  return clock == Clock::gpu ? ClockNoise{0.0025, 0.02, 0.005, 40, 1000}
                             : ClockNoise{0.02, 0.10, 0.10, 0, 0};
}

double half_width(const TimeEstimate& time, const ClockNoise& noise) {
  if (time.low_ns == 0 && time.high_ns == 0) return noise.assumed_half_width;
  const double wider = std::max(time.median_ns - time.low_ns, time.high_ns - time.median_ns);
  return std::max(0.0, wider) / time.median_ns;
}

// Of the logarithm of b / a, for identical code.
double expected_deviation(const TimedPair& pair) {
  const ClockNoise noise = noise_of(pair.clock);
  const double a = half_width(pair.a, noise) / kZ95;
  const double b = half_width(pair.b, noise) / kZ95;
  return std::sqrt(a * a + b * b + 2 * noise.wander * noise.wander);
}

double log_change(const TimedPair& pair) { return std::log(pair.b.median_ns / pair.a.median_ns); }

// For a verdict of SLOWER or FASTER.
double smallest_that_counts(const TimedPair& pair, double threshold) {
  const double floor = std::max(pair.a.noise_floor, pair.b.noise_floor);
  const ClockNoise noise = noise_of(pair.clock);
  const double relative = std::max(threshold, 2 * floor);
  const bool is_cut_short = pair.a.cut_short || pair.b.cut_short;
  const double factor = is_cut_short ? kCutShortFactor : 1;
  const double smallest_ns = is_cut_short ? noise.cut_short_ns : noise.smallest_ns;
  // Relative to the shorter time, so that swapping the runs swaps the verdicts.
  const double shorter = std::min(pair.a.median_ns, pair.b.median_ns);
  return std::max(factor * relative, smallest_ns / shorter);
}

// The z that a normal variable exceeds to either side with this probability.
double two_sided_z(double probability) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > probability ? low : high) = middle;
  }
  return low;
}

struct Interval {
  double low, high;
  double middle() const { return (low + high) / 2; }
};

// The shortest interval with a quarter of the sorted values: most values are near it. A quarter,
// because half of them may have changed alike.
Interval densest_quarter(std::span<const double> sorted) {
  const std::size_t span = sorted.size() / 4;
  std::size_t first = 0;
  const auto length = [&](std::size_t i) { return sorted[i + span] - sorted[i]; };
  for (std::size_t i = 0; i + span < sorted.size(); ++i) {
    if (length(i) < length(first)) first = i;
  }
  return {sorted[first], sorted[first + span]};
}

// The rows that are close together: within 3.5 standard deviations of the place with most scores,
// if scores were normally distributed (half the length of a quarter is then 0.3186 standard
// deviations).
std::span<const double> together(std::span<const double> sorted) {
  const Interval dense = densest_quarter(sorted);
  const double reach = 3.5 * (dense.high - dense.low) / 2 / 0.3186;
  return {std::ranges::lower_bound(sorted, dense.middle() - reach),
          std::ranges::upper_bound(sorted, dense.middle() + reach)};
}

double standard_deviation(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1));
}

// The change that most rows share.
double common_change(std::vector<double> logs) {
  if (logs.empty()) return 0;
  std::ranges::sort(logs);
  return densest_quarter(logs).middle();
}

// The scatter of the rows in expected deviations, without the rows that changed.
double widening_of(std::vector<double> scores) {
  if (scores.size() < kMinRowsForWidening) return 1;
  std::ranges::sort(scores);
  std::span<const double> kept = scores;
  while (true) {
    const std::span<const double> near = together(kept);
    if (near.size() < scores.size() / 5 || near.size() == kept.size()) break;
    kept = near;
  }
  return std::clamp(standard_deviation(kept), 1.0, kMaxWidening);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  static constexpr std::array<std::string_view, 4> kNames = {// in the order of Verdict
                                                             "SLOWER", "FASTER", "UNSURE", "SAME"};
  return kNames[static_cast<std::size_t>(verdict)];
}

double smallest_that_counts(Clock clock) { return noise_of(clock).smallest; }

Judgement judge(std::span<const TimedPair> pairs, std::optional<double> threshold) {
  Judgement judgement;
  std::vector<double> logs;
  std::vector<double> scores;
  std::vector<TimedPair> measured_twice;
  std::ranges::copy_if(pairs, std::back_inserter(measured_twice),
                       [](const TimedPair& pair) { return !pair.same_samples; });
  logs.reserve(measured_twice.size());
  for (const TimedPair& pair : measured_twice) logs.push_back(log_change(pair));
  // A change that all rows share is not scatter, but with it the scores would differ with the rows'
  // intervals.
  const double common = common_change(logs);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    scores.push_back((logs[i] - common) / expected_deviation(measured_twice[i]));
  }
  judgement.widening = widening_of(std::move(scores));
  const auto rows = static_cast<double>(std::max<std::size_t>(logs.size(), 1));
  const double z = two_sided_z(kFalseAlarmsPerTable / rows);
  for (const TimedPair& pair : pairs) {
    const double log = pair.same_samples ? 0 : log_change(pair);
    const double deviation = pair.same_samples ? 0 : judgement.widening * expected_deviation(pair);
    Difference difference;
    difference.change = std::expm1(log);
    difference.low = std::expm1(log - kZ95 * deviation);
    difference.high = std::expm1(log + kZ95 * deviation);
    const double smallest = threshold.value_or(smallest_that_counts(pair.clock));
    difference.smallest_that_counts = smallest_that_counts(pair, smallest);
    const double counts = std::log1p(difference.smallest_that_counts);
    if (std::abs(log) >= std::max(counts, z * deviation)) {
      difference.verdict = log > 0 ? Verdict::slower : Verdict::faster;
    } else if (std::abs(log) + kZ95 * deviation <= std::log1p(smallest)) {
      difference.verdict = Verdict::same;
    }
    judgement.differences.push_back(difference);
  }
  return judgement;
}

TimeEstimate estimate_from_quartiles(double median_ns, double q1_ns, double q3_ns,
                                     std::int64_t samples) {
  if (samples < 1 || q1_ns <= 0 || q3_ns < q1_ns) return {median_ns};
  const double half = 1.57 * (q3_ns - q1_ns) / std::sqrt(static_cast<double>(samples));
  return {median_ns, std::max(q1_ns, median_ns - half), std::min(q3_ns, median_ns + half)};
}

}  // namespace mgtune
