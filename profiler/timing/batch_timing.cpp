#include "timing/batch_timing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>

#include "timing/statistics.h"
#include "timing/stop_rule.h"

namespace mgtune {
namespace {

// Warm-up goes in windows of 1 ms. It ends when three in a row have medians within 1 % of each
// other's neighbour, after 30 windows, or when it has taken a quarter of the budget's time.
constexpr double kWindowNs = 1e6;
constexpr double kSettled = 0.01;
constexpr int kSettledWindows = 3;
constexpr int kMaxWindows = 30;
constexpr double kWarmUpShare = 0.25;

struct WarmUp {
  double call_ns = 0;
  double last_change = 0;  // between the last two windows, as a part of the time
  bool settled = false;
};

std::int64_t at_least_one(double count) { return count > 1 ? static_cast<std::int64_t>(count) : 1; }

// Clocks of coarse ticks may read 0.
Result<double> time_window(BatchClock& clock, std::int64_t calls, std::int64_t batches) {
  MGTUNE_ASSIGN(const std::vector<double> samples, clock.time(calls, batches));
  return std::max(1.0, summarise(samples).median);
}

Result<WarmUp> warm_up(BatchClock& clock, const BatchSize& size, double max_ns) {
  MGTUNE_TRY(clock.start());
  WarmUp warm;
  MGTUNE_ASSIGN(warm.call_ns, time_window(clock, 1, 1));
  double spent_ns = 0;
  int alike = 1;
  for (int window = 0; window < kMaxWindows; ++window) {
    const std::int64_t calls = size.calls(warm.call_ns, clock.max_calls());
    const double batch_ns = warm.call_ns * static_cast<double>(calls);
    const std::int64_t batches =
        std::min(at_least_one(kWindowNs / batch_ns), clock.max_batches(calls));
    MGTUNE_ASSIGN(const double call_ns, time_window(clock, calls, batches));
    warm.last_change = std::abs(call_ns / warm.call_ns - 1);
    warm.call_ns = call_ns;
    spent_ns += call_ns * static_cast<double>(calls * batches);
    alike = warm.last_change < kSettled ? alike + 1 : 1;
    warm.settled = alike >= kSettledWindows;
    if (warm.settled || spent_ns >= max_ns) return warm;
  }
  return warm;
}

// As many as there are samples already, so that few are wasted on a variant that loses its race.
std::int64_t next_batches(const TimingBudget& budget, std::int64_t taken, double left_ns,
                          double batch_ns) {
  const std::int64_t missing = budget.min_samples - taken;
  const std::int64_t affordable = std::max(missing, at_least_one(left_ns / batch_ns));
  return std::clamp<std::int64_t>(std::max(missing, taken), 1,
                                  std::min(affordable, budget.max_samples - taken));
}

std::string percent(double part) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", part * 100);
  return text.data();
}

}  // namespace

std::int64_t BatchSize::calls(double call_ns, std::int64_t max_calls) const {
  const double fill = std::ceil(batch_ns / call_ns);
  const double least = std::min(static_cast<double>(least_calls), longest_ns / call_ns);
  const auto largest = static_cast<double>(std::int64_t{1} << 30);
  const auto wanted = static_cast<std::uint64_t>(std::clamp(std::max(fill, least), 1.0, largest));
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(1, max_calls));
  return static_cast<std::int64_t>(std::min(std::bit_ceil(wanted), std::bit_floor(limit)));
}

Result<Timing> time_in_batches(BatchClock& clock, const BatchSize& size,
                               const TimingBudget& budget) {
  const double max_ns = budget.max_seconds * 1e9;
  MGTUNE_ASSIGN(const WarmUp warm, warm_up(clock, size, max_ns * kWarmUpShare));
  Timing timing;
  if (!warm.settled) {
    timing.note = "times still changed by " + percent(warm.last_change) + " after warm-up";
  }
  const std::int64_t calls = size.calls(warm.call_ns, clock.max_calls());
  const double batch_ns = warm.call_ns * static_cast<double>(calls);
  double measured_ns = 0;
  while (true) {
    const auto taken = static_cast<std::int64_t>(timing.samples_ns.size());
    const std::int64_t batches = std::min(
        next_batches(budget, taken, max_ns - measured_ns, batch_ns), clock.max_batches(calls));
    MGTUNE_ASSIGN(const std::vector<double> samples, clock.time(calls, batches));
    for (const double sample_ns : samples) {
      timing.samples_ns.push_back(sample_ns);
      measured_ns += sample_ns * static_cast<double>(calls);
    }
    const StopRule stop = stop_rule(timing.samples_ns, measured_ns, budget);
    if (stop == StopRule::go_on) continue;
    timing.censored = stop == StopRule::censored;
    return timing;
  }
}

void add_note(const std::string& note, Timing& timing) {
  if (!timing.note.empty() && !note.empty()) timing.note += "; ";
  timing.note += note;
}

}  // namespace mgtune
