// The rule of mgtune compare on made-up numbers, and its error rates on simulated runs.

#include "compare/noise_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "timing/statistics.h"

namespace mgtune {
namespace {

TimeEstimate estimate(double median_ns, double half_width = 0.001) {
  return {median_ns, median_ns * (1 - half_width), median_ns * (1 + half_width)};
}

Difference difference(const TimeEstimate& a, const TimeEstimate& b, Clock clock = Clock::gpu) {
  const TimedPair pair{a, b, clock};
  return judge({&pair, 1}).differences.front();
}

Verdict verdict(double b_over_a, double half_width = 0.001, Clock clock = Clock::gpu) {
  return difference(estimate(10000, half_width), estimate(10000 * b_over_a, half_width), clock)
      .verdict;
}

TEST(NoiseRule, NoPairsAreNoDifferences) {
  EXPECT_TRUE(judge({}).differences.empty());
  EXPECT_EQ(judge({}).widening, 1);
}

TEST(NoiseRule, ADifferenceCountsFromTwoPercentOn) {
  EXPECT_EQ(verdict(1), Verdict::same);
  EXPECT_EQ(verdict(1.01), Verdict::same);
  EXPECT_EQ(verdict(1.019), Verdict::unsure);
  EXPECT_EQ(verdict(1.021), Verdict::slower);
  EXPECT_EQ(verdict(1 / 1.019), Verdict::unsure);
  EXPECT_EQ(verdict(1 / 1.021), Verdict::faster);
}

TEST(NoiseRule, WideIntervalsAreBeyondJudging) {
  EXPECT_EQ(verdict(1.03, 0.03), Verdict::unsure);
  EXPECT_EQ(verdict(1, 0.03), Verdict::unsure);
  EXPECT_EQ(verdict(1.2, 0.03), Verdict::slower);
}

TEST(NoiseRule, TheIntervalHoldsTheChangeAndTheWanderOfBothProcesses) {
  const Difference exact = difference(estimate(10000, 0), estimate(10300, 0));
  EXPECT_NEAR(exact.change, 0.03, 1e-12);
  EXPECT_NEAR(exact.low, 0.03 - 1.96 * 0.0025 * std::sqrt(2.0), 5e-4);
  EXPECT_NEAR(exact.high, 0.03 + 1.96 * 0.0025 * std::sqrt(2.0), 5e-4);
  const Difference wider = difference(estimate(10000, 0.01), estimate(10300, 0));
  EXPECT_LT(wider.low, exact.low - 0.004);
}

TEST(NoiseRule, AnIntervalThatIsNotKnownCountsAsTheWidestThatMeasuringEndsWith) {
  const Difference unknown = difference({10000}, {10300});
  const Difference half_percent = difference(estimate(10000, 0.005), estimate(10300, 0.005));
  EXPECT_NEAR(unknown.low, half_percent.low, 1e-12);
}

TEST(NoiseRule, ANoiseFloorRaisesWhatCounts) {
  TimeEstimate noisy = estimate(10300);
  noisy.noise_floor = 0.02;
  EXPECT_EQ(difference(estimate(10000), noisy).verdict, Verdict::unsure);
  EXPECT_EQ(difference(noisy, estimate(10000)).verdict, Verdict::unsure);
  EXPECT_DOUBLE_EQ(difference(estimate(10000), noisy).smallest_that_counts, 0.04);
  noisy.noise_floor = 0.008;  // what A/A pairs on an H200 show: no reason to miss 3 %
  EXPECT_EQ(difference(estimate(10000), noisy).verdict, Verdict::slower);
}

TEST(NoiseRule, ATimeThatRacingCutShortCountsAThird) {
  TimeEstimate raced = estimate(103e3);
  raced.cut_short = true;
  EXPECT_EQ(difference(estimate(100e3), raced).verdict, Verdict::unsure);
  raced = estimate(107e3);
  raced.cut_short = true;
  EXPECT_EQ(difference(estimate(100e3), raced).verdict, Verdict::slower);
}

// 1,856 and 2,447 ns are two runs of identical code on an H200: six calls each, before the warm-up.
TEST(NoiseRule, ACallBeforeTheWarmUpMayTakeAMicrosecondMore) {
  TimeEstimate first = estimate(1856), second = estimate(2447);
  first.cut_short = second.cut_short = true;
  EXPECT_EQ(difference(first, second).verdict, Verdict::unsure);
  EXPECT_EQ(difference(second, first).verdict, Verdict::unsure);
  EXPECT_EQ(difference(first, estimate(2447)).verdict, Verdict::unsure);
  EXPECT_EQ(difference(estimate(1856), estimate(2447)).verdict, Verdict::slower);
  second = estimate(3000);
  second.cut_short = true;
  EXPECT_EQ(difference(first, second).verdict, Verdict::slower);
}

// 1.397 and 1.429 us are two runs of identical code on an H200, each repeatable to 0.2 %.
TEST(NoiseRule, OneStepOfTheClockIsNoDifference) {
  EXPECT_EQ(difference(estimate(1397), estimate(1429)).verdict, Verdict::unsure);
  EXPECT_EQ(difference(estimate(1429), estimate(1397)).verdict, Verdict::unsure);
  EXPECT_NEAR(difference(estimate(1397), estimate(1429)).smallest_that_counts, 40.0 / 1397, 1e-12);
  EXPECT_EQ(difference(estimate(1397), estimate(1461)).verdict, Verdict::slower);
  EXPECT_EQ(difference(estimate(1461), estimate(1397)).verdict, Verdict::faster);
  EXPECT_DOUBLE_EQ(difference(estimate(2100), estimate(2200)).smallest_that_counts, 0.02);
}

TEST(NoiseRule, HostsWanderMore) {
  EXPECT_EQ(verdict(1.03, 0.001, Clock::host), Verdict::same);
  EXPECT_EQ(verdict(1.08, 0.001, Clock::host), Verdict::unsure);
  EXPECT_EQ(verdict(1.12, 0.001, Clock::host), Verdict::slower);
  EXPECT_EQ(difference({100}, {120}, Clock::host).verdict, Verdict::unsure);  // one run each
  EXPECT_EQ(difference({100}, {140}, Clock::host).verdict, Verdict::slower);
}

// Rows whose logarithms are spread evenly over +-spread, with `slowed` of them 10 % slower.
std::vector<TimedPair> spread_rows(std::size_t count, double spread, std::size_t slowed = 0) {
  std::vector<TimedPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = 2.0 * double(i * 37 % count) / double(count - 1) - 1;
    const double factor = std::exp(spread * at) * (i < slowed ? 1.1 : 1);
    pairs.push_back({estimate(10000), estimate(10000 * factor)});
  }
  return pairs;
}

TEST(NoiseRule, ATableThatScattersWidensItsOwnIntervals) {
  const Judgement calm = judge(spread_rows(101, 0.005));
  EXPECT_LT(calm.widening, 1.1);
  const Judgement scattered = judge(spread_rows(101, 0.025));
  EXPECT_GT(scattered.widening, 3);
  for (const Difference& row : scattered.differences) EXPECT_NE(row.verdict, Verdict::slower);
  EXPECT_EQ(judge(spread_rows(19, 0.025)).widening, 1);  // too few to tell
}

// All rows of a GPU whose clocks were lowered: well measured ones and others.
TEST(NoiseRule, AChangeThatAllRowsShareIsNoScatter) {
  std::vector<TimedPair> all;
  for (int i = 0; i < 40; ++i) {
    const double half_width = i % 2 == 0 ? 0.001 : 0.02;
    all.push_back({estimate(10000, half_width), estimate(10300, half_width)});
  }
  const Judgement judgement = judge(all);
  EXPECT_EQ(judgement.widening, 1);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    EXPECT_EQ(judgement.differences[i].verdict, Verdict::slower);
  }
}

TEST(NoiseRule, RowsThatChangedDoNotHideEachOther) {
  const Judgement judgement = judge(spread_rows(101, 0.005, 45));
  EXPECT_LT(judgement.widening, 1.2);
  const auto slower =
      std::ranges::count(judgement.differences, Verdict::slower, &Difference::verdict);
  EXPECT_EQ(slower, 45);
  // Everything changed, each by another amount: widened as far as it goes, and still judged.
  std::vector<TimedPair> all;
  for (int i = 0; i < 100; ++i) all.push_back({estimate(10000), estimate(10000 + 100 * i)});
  const Judgement wild = judge(all);
  EXPECT_EQ(wild.widening, 4);
  EXPECT_EQ(wild.differences[20].verdict, Verdict::slower);
}

// Rows of which one file is a copy of the other say nothing about two runs.
TEST(NoiseRule, TheSameSamplesAreTheSameHoweverWideTheirInterval) {
  std::vector<TimedPair> all = spread_rows(101, 0.025);
  const Judgement alone = judge(all);
  const std::size_t measured_twice = all.size();
  for (int i = 0; i < 400; ++i) {
    all.push_back({estimate(10000, 0.2), estimate(10000, 0.2), Clock::gpu, true});
    all.back().a.cut_short = true;
  }
  const Judgement with_copies = judge(all);
  EXPECT_EQ(with_copies.widening, alone.widening) << "copies do not hide the scatter";
  for (std::size_t i = 0; i < measured_twice; ++i) {
    EXPECT_EQ(with_copies.differences[i].low, alone.differences[i].low);
    EXPECT_EQ(with_copies.differences[i].high, alone.differences[i].high);
    EXPECT_EQ(with_copies.differences[i].verdict, alone.differences[i].verdict);
  }
  for (std::size_t i = measured_twice; i < all.size(); ++i) {
    EXPECT_EQ(with_copies.differences[i].verdict, Verdict::same);
    EXPECT_EQ(with_copies.differences[i].low, 0);
    EXPECT_EQ(with_copies.differences[i].high, 0);
  }
  // Two runs that happen to have one median are still two.
  EXPECT_EQ(difference(estimate(10000, 0.2), estimate(10000, 0.2)).verdict, Verdict::unsure);
  const TimedPair copy{estimate(100), estimate(100), Clock::gpu, true};
  EXPECT_EQ(judge({&copy, 1}).differences[0].verdict, Verdict::same);
}

TEST(NoiseRule, QuartilesGiveAnIntervalForRowsWithoutOne) {
  const TimeEstimate interval = estimate_from_quartiles(100, 98, 102, 100);
  EXPECT_NEAR(interval.low_ns, 100 - 0.628, 1e-9);
  EXPECT_NEAR(interval.high_ns, 100 + 0.628, 1e-9);
  const TimeEstimate few = estimate_from_quartiles(100, 98, 105, 2);
  EXPECT_EQ(few.low_ns, 98);
  EXPECT_EQ(few.high_ns, 105);
  EXPECT_EQ(estimate_from_quartiles(100, 0, 0, 0).high_ns, 0);  // nothing known
}

// ---- simulated runs ----

// How a GPU run comes to its medians, in relative units.
struct Wander {
  double row = 0.002;      // standard deviation of a row's level between processes ...
  double process = 0.001;  // ... and of all rows of a process together
  double limit = 3;        // in standard deviations: levels are bounded
};

constexpr std::size_t kRows = 200;  // of a large table
constexpr int kTries = 100;

class SimulatedGpu {
 public:
  // Kernels from 2 to 500 us, evenly in the logarithm.
  SimulatedGpu(std::uint32_t seed, std::size_t rows) : random_(seed) {
    for (std::size_t i = 0; i < rows; ++i) {
      times_ns_.push_back(2000 * std::pow(250, double(i) / double(rows)));
    }
  }

  // What one process says of every kernel; those below `slowed` run 3 % longer.
  std::vector<TimeEstimate> run(const Wander& wander, std::size_t slowed = 0) {
    const double process = bounded(wander.process, wander.limit);
    std::vector<TimeEstimate> rows;
    for (std::size_t i = 0; i < times_ns_.size(); ++i) {
      const double level = times_ns_[i] * (i < slowed ? 1.03 : 1) *
                           (1 + process + bounded(wander.row, wander.limit));
      rows.push_back(measure(level));
    }
    return rows;
  }

 private:
  double bounded(double deviation, double limit) {
    return deviation * std::clamp(normal_(random_), -limit, limit);
  }

  // 40 samples of batches that take 50 us or more, as event ticks of 32 ns see them: 0.6 % of noise
  // a sample, a drift of up to 0.2 % over the measurement, and one sample in fifty disturbed by 10
  // % on the average.
  TimeEstimate measure(double level_ns) {
    const double launches = std::ceil(50000 / level_ns);
    const double drift = 0.002 * uniform_(random_);
    std::vector<double> samples;
    for (int i = 0; i < 40; ++i) {
      double factor = 1 + drift * i / 40 + 0.006 * normal_(random_);
      if (uniform_(random_) < 0.02) factor += 0.1 * tail_(random_);
      samples.push_back(std::round(level_ns * launches * factor / 32) * 32 / launches);
    }
    const SampleSummary summary = summarise(samples);
    return {summary.median, summary.median_low, summary.median_high, 0.006};
  }

  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::exponential_distribution<double> tail_;
  std::vector<double> times_ns_;
};

std::vector<TimedPair> pair_up(const std::vector<TimeEstimate>& a,
                               const std::vector<TimeEstimate>& b) {
  std::vector<TimedPair> pairs;
  for (std::size_t i = 0; i < a.size(); ++i) pairs.push_back({a[i], b[i]});
  return pairs;
}

struct Tally {
  int false_alarms = 0;           // rows
  std::vector<int> caught;        // tries, by slowed row
  double interval_width = 0;      // the mean over the rows of all runs
  double largest_difference = 0;  // between runs of identical code
  int same = 0;
  int tables_with_alarms = 0;

  double least_caught() const { return *std::ranges::min_element(caught); }
};

Tally simulate(const Wander& wander, std::size_t slowed, std::size_t rows = kRows) {
  Tally tally;
  tally.caught.resize(slowed);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    SimulatedGpu gpu(std::uint32_t(attempt + 1), rows);
    const auto pairs = pair_up(gpu.run(wander), gpu.run(wander, slowed));
    const Judgement judgement = judge(pairs);
    const int alarms_before = tally.false_alarms;
    for (std::size_t i = 0; i < rows; ++i) {
      const Difference& row = judgement.differences[i];
      tally.interval_width +=
          (pairs[i].a.high_ns - pairs[i].a.low_ns) / pairs[i].a.median_ns / double(kTries * rows);
      if (i < slowed) {
        tally.caught[i] += row.verdict == Verdict::slower ? 1 : 0;
        continue;
      }
      tally.largest_difference = std::max(tally.largest_difference, std::abs(row.change));
      tally.false_alarms +=
          row.verdict == Verdict::slower || row.verdict == Verdict::faster ? 1 : 0;
      tally.same += row.verdict == Verdict::same ? 1 : 0;
    }
    tally.tables_with_alarms += tally.false_alarms > alarms_before ? 1 : 0;
  }
  return tally;
}

void print(const char* what, const Tally& tally) {
  std::printf(
      "%s: intervals %.2f %% wide, identical rows differ by up to %.2f %%; "
      "%d false alarms in %d tables, %d SAME\n",
      what, 100 * tally.interval_width, 100 * tally.largest_difference, tally.false_alarms,
      tally.tables_with_alarms, tally.same);
}

TEST(NoiseRuleSimulation, IdenticalCodeIsNeverCalledDifferent) {
  const Tally tally = simulate({}, 0);
  print("identical", tally);
  // The runs are as noisy as those that the rule is for.
  EXPECT_GT(tally.largest_difference, 0.010);
  EXPECT_GT(tally.interval_width, 0.003);
  EXPECT_LT(tally.interval_width, 0.006);
  EXPECT_EQ(tally.false_alarms, 0);
  EXPECT_GT(tally.same, int(0.95 * kTries * kRows));
}

TEST(NoiseRuleSimulation, AKernelSlowedByThreePercentIsCaught) {
  for (const std::size_t slowed :
       {std::size_t(1), std::size_t(20), kRows * 2 / 5, kRows / 2, kRows}) {
    const Tally tally = simulate({}, slowed);
    print("slowed", tally);
    std::printf("  of %zu slowed rows the one missed most is caught in %.0f of %d\n", slowed,
                tally.least_caught(), kTries);
    EXPECT_GE(tally.least_caught(), 95) << slowed;
    EXPECT_EQ(tally.false_alarms, 0) << slowed;
  }
}

TEST(NoiseRuleSimulation, SmallTablesAreJudgedAsWell) {
  for (const std::size_t rows : {1, 2, 8, 19, 20, 25, 40}) {
    EXPECT_EQ(simulate({}, 0, rows).false_alarms, 0) << rows;
    const Tally tally = simulate({}, 1, rows);
    std::printf("1 slowed row of %zu: caught in %.0f of %d\n", rows, tally.least_caught(), kTries);
    EXPECT_GE(tally.least_caught(), 95) << rows;
  }
}

TEST(NoiseRuleSimulation, WhereProcessesWanderMoreItFallsSilentInsteadOfWrong) {
  const Tally tally = simulate({0.006, 0.003, 4}, 0);
  print("wandering", tally);
  EXPECT_GT(tally.largest_difference, 0.025);
  EXPECT_LE(tally.tables_with_alarms, 1);
  EXPECT_LT(simulate({0.006, 0.003, 4}, 1).least_caught(), 50);
}

}  // namespace
}  // namespace mgtune
