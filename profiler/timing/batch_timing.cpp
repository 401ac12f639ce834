#include "timing/batch_timing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "clocks/clock_log.h"
#include "timing/early_race.h"
#include "timing/statistics.h"

namespace mgtune {
namespace {

// The warm-up has windows of 1 ms. It ends when three windows in a row have medians within 1 % of
// their neighbour, after 30 windows, or when it has taken a quarter of the budget's time.
constexpr double kWindowNs = 1e6;
constexpr double kSettled = 0.01;
constexpr int kSettledWindows = 3;
constexpr int kMaxWindows = 30;
constexpr double kWarmUpShare = 0.25;

// When works are timed in turn, a sample is longer: the pause between two works is 0.1 ms, and each
// ratio is made from one pair of samples.
constexpr double kTurnNs = 200e3;
constexpr double kTurnWarmUpNs = 10e6;

// A work may have to run without pauses before its sample. This run is timed in parts: a part is a
// quarter of the run, or up to twice as long. The sample is one more part, so it has the clocks of
// the last part of the run.
constexpr double kRunParts = 4;
constexpr double kChanges = 0.01;

struct WarmUp {
  double call_ns = 0;
  double last_change = 0;  // between the last two windows, relative to the time
  bool settled = false;
};

std::int64_t at_least_one(double count) { return count > 1 ? static_cast<std::int64_t>(count) : 1; }

// A clock with coarse ticks may read 0.
double call_ns_of(const std::vector<double>& samples) {
  return std::max(1.0, summarise(samples).median);
}

Result<double> time_window(BatchClock& clock, std::int64_t calls, std::int64_t batches) {
  MGTUNE_ASSIGN(const std::vector<double> samples, clock.time(calls, batches));
  return call_ns_of(samples);
}

// Ends as soon as the race, if there is one, is lost.
Result<WarmUp> warm_up(BatchClock& clock, const BatchSize& size, double max_ns,
                       EarlyRace* race = nullptr) {
  MGTUNE_TRY(clock.start());
  const bool has_race = race != nullptr && race->is_on();
  const std::int64_t first_calls = has_race && size.times_single_calls
                                       ? std::min(race->samples_needed(), clock.max_batches(1))
                                       : 1;
  MGTUNE_ASSIGN(const std::vector<double> first, clock.time(1, first_calls));
  WarmUp warm{.call_ns = call_ns_of(first)};
  if (has_race && size.times_single_calls && race->is_lost(first, kBeforeWarmUp)) return warm;
  double spent_ns = 0;
  int alike = 1;
  for (int window = 0; window < kMaxWindows; ++window) {
    const std::int64_t calls = size.calls(warm.call_ns, clock.max_calls());
    const double batch_ns = warm.call_ns * static_cast<double>(calls);
    const std::int64_t batches =
        std::min(at_least_one(kWindowNs / batch_ns), clock.max_batches(calls));
    MGTUNE_ASSIGN(const std::vector<double> samples, clock.time(calls, batches));
    const double call_ns = call_ns_of(samples);
    warm.last_change = std::abs(call_ns / warm.call_ns - 1);
    warm.call_ns = call_ns;
    spent_ns += call_ns * static_cast<double>(calls * batches);
    alike = warm.last_change < kSettled ? alike + 1 : 1;
    warm.settled = alike >= kSettledWindows;
    if (has_race && window == 0 && race->is_lost(samples, kFirstWindow)) return warm;
    if (warm.settled || spent_ns >= max_ns) return warm;
  }
  return warm;
}

// A work that is timed in turn with others.
struct Turn {
  std::unique_ptr<BatchClock> clock;
  double burst_ns = 0;     // of a call in the warm-up
  std::int64_t calls = 0;  // of a sample
};

// Runs the work alone. Returns the time of a call in the last part of the run.
Result<double> run_for(BatchClock& clock, std::int64_t calls, double run_ns) {
  double call_ns = 0;
  for (double spent_ns = 0; spent_ns < run_ns;) {
    MGTUNE_ASSIGN(call_ns, time_window(clock, calls, 1));
    spent_ns += call_ns * static_cast<double>(calls);
  }
  return call_ns;
}

// Whether a run of this length changes the time of any of the works. If it does, the samples of all
// works become as long as a part of a run.
Result<bool> sustain(std::vector<Turn>& turns, BatchSize size, double run_ns) {
  if (run_ns <= 0) return false;
  size.batch_ns = std::max(size.batch_ns, run_ns / kRunParts);
  const auto calls = [&](const Turn& turn) {
    return size.calls(turn.burst_ns, turn.clock->max_calls());
  };
  bool changes = false;
  for (const Turn& turn : turns) {
    MGTUNE_ASSIGN(const double settled_ns, run_for(*turn.clock, calls(turn), run_ns));
    changes = std::abs(settled_ns / turn.burst_ns - 1) > kChanges;
    if (changes) break;
  }
  if (changes) {
    for (Turn& turn : turns) turn.calls = calls(turn);
  }
  return changes;
}

// As many as there are samples already, so that few are wasted on a variant that loses its race.
std::int64_t next_batches(const TimingBudget& budget, std::int64_t taken, double left_ns,
                          double batch_ns) {
  const std::int64_t missing = budget.min_samples - taken;
  const std::int64_t affordable = std::max(missing, at_least_one(left_ns / batch_ns));
  return std::clamp<std::int64_t>(std::max(missing, taken), 1,
                                  std::min(affordable, budget.max_samples - taken));
}

std::string settling_note(const WarmUp& warm) {
  if (warm.settled) return "";
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "times still changed by %.1f %% after warm-up",
                warm.last_change * 100);
  return text.data();
}

std::string sustained_note(double seconds) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(),
                "sustained: each variant ran for %.2g s before each sample", seconds);
  return text.data();
}

std::string joined(std::initializer_list<std::string> notes) {
  std::string text;
  for (const std::string& note : notes) {
    if (!note.empty()) text += (text.empty() ? "" : "; ") + note;
  }
  return text;
}

// The size of a batch that uses every buffer set, if the method allows it. Long work with one set
// has nothing to rotate, so its batch is one call.
BatchSize size_for(BatchSize size, std::int64_t buffer_sets) {
  size.min_calls = buffer_sets <= 1 ? 1 : std::max(size.min_calls, buffer_sets);
  return size;
}

}  // namespace

std::int64_t BatchSize::calls(double call_ns, std::int64_t max_calls) const {
  const double fill = std::ceil(batch_ns / call_ns);
  const double fewest = std::min(static_cast<double>(min_calls), longest_ns / call_ns);
  const auto largest = static_cast<double>(std::int64_t{1} << 30);
  const auto wanted = static_cast<std::uint64_t>(std::clamp(std::max(fill, fewest), 1.0, largest));
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(1, max_calls));
  return static_cast<std::int64_t>(std::min(std::bit_ceil(wanted), std::bit_floor(limit)));
}

BatchTimer::BatchTimer(std::string method, const BatchSize& size, std::unique_ptr<ClockWatch> watch)
    : method_(std::move(method)), size_(size), watch_(std::move(watch)) {}

Result<Timing> BatchTimer::time(const TimedWork& work, const TimingBudget& budget) {
  const std::unique_ptr<BatchClock> clock = this->clock(work);
  const BatchSize size = size_for(size_, budget.buffer_sets);
  const double max_ns = budget.max_seconds * 1e9;
  ClockLog log(watch_.get(), full_clocks_, max_ns);
  EarlyRace race(budget, log);
  MGTUNE_ASSIGN(const WarmUp warm, warm_up(*clock, size, max_ns * kWarmUpShare, &race));
  Timing timing;
  if (!race.lost().empty()) {
    timing.samples_ns = race.lost();
    timing.censored = true;
    timing.clocks = log.summary();
    timing.note = joined({clock->note(budget.buffer_sets), note()});
    return timing;
  }
  const std::int64_t calls = size.calls(warm.call_ns, clock->max_calls());
  const double batch_ns = warm.call_ns * static_cast<double>(calls);
  double measured_ns = 0;
  StopRule stop = StopRule::go_on;
  while (stop == StopRule::go_on) {
    const auto taken = static_cast<std::int64_t>(timing.samples_ns.size());
    const std::int64_t batches = std::min(
        next_batches(budget, taken, max_ns - measured_ns, batch_ns), clock->max_batches(calls));
    MGTUNE_ASSIGN(const std::vector<double> samples, clock->time(calls, batches));
    const double took_ns =
        std::accumulate(samples.begin(), samples.end(), 0.0) * static_cast<double>(calls);
    if (log.repeats(batches, took_ns)) continue;
    timing.samples_ns.insert(timing.samples_ns.end(), samples.begin(), samples.end());
    measured_ns += took_ns;
    TimingBudget at_this_clock = budget;
    at_this_clock.stop_above_ns *= log.slowdown(budget.stop_above_mhz).value_or(1);
    stop = stop_rule(timing.samples_ns, measured_ns, at_this_clock);
  }
  timing.censored = stop == StopRule::censored;
  timing.clocks = log.summary();
  timing.note = joined({settling_note(warm), clock->note(budget.buffer_sets), log.note(), note()});
  return timing;
}

Result<TurnTiming> BatchTimer::time_in_turn(std::span<const TimedWork> works,
                                            const TurnBudget& budget) {
  std::int64_t turn = 0;  // of all works together
  std::vector<TimedWork> turning;
  for (const TimedWork& work : works) {
    turning.emplace_back(
        [&work, &turn](std::int64_t, Stream stream) { return work(turn++, stream); });
  }
  BatchSize size = size_for(size_, budget.buffer_sets);
  size.batch_ns = std::max(size.batch_ns, kTurnNs);
  std::vector<Turn> turns;
  std::string settling;
  for (const TimedWork& work : turning) {
    Turn& added = turns.emplace_back(Turn{this->clock(work)});
    MGTUNE_ASSIGN(const WarmUp warm, warm_up(*added.clock, size, kTurnWarmUpNs));
    added.burst_ns = warm.call_ns;
    added.calls = size.calls(warm.call_ns, added.clock->max_calls());
    if (settling.empty()) settling = settling_note(warm);
  }
  const double run_ns = budget.settle_seconds * 1e9;
  MGTUNE_ASSIGN(const bool is_sustained, sustain(turns, size, run_ns));

  const double max_ns = budget.max_seconds * 1e9;
  // The clocks of a sustained run are low for good: its samples are not taken again.
  ClockLog log(watch_.get(), full_clocks_, is_sustained ? 0 : max_ns);
  TurnTiming timing;
  timing.samples_ns.resize(works.size());
  std::vector<std::size_t> order(works.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(budget.seed);
  std::vector<double> round(works.size());
  double measured_ns = 0;
  for (std::int64_t rounds = 0; !is_enough(rounds, measured_ns, budget);) {
    std::ranges::shuffle(order, random);
    double took_ns = 0;
    for (const std::size_t i : order) {
      const Turn& next = turns[i];
      if (is_sustained) MGTUNE_TRY(run_for(*next.clock, next.calls, run_ns).status());
      MGTUNE_ASSIGN(const std::vector<double> samples, next.clock->time(next.calls, 1));
      round[i] = samples.front();
      took_ns += round[i] * static_cast<double>(next.calls);
    }
    if (log.repeats(static_cast<std::int64_t>(works.size()), took_ns)) continue;
    for (std::size_t i = 0; i < works.size(); ++i) timing.samples_ns[i].push_back(round[i]);
    measured_ns += took_ns;
    ++rounds;
  }
  timing.clocks = log.summary();
  const std::string clock_note = turns.empty() ? "" : turns.front().clock->note(budget.buffer_sets);
  timing.note = joined({is_sustained ? sustained_note(budget.settle_seconds) : settling, clock_note,
                        is_sustained ? "" : log.note(), note()});
  return timing;
}

}  // namespace mgtune
