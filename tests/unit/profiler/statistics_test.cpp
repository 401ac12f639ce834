#include "timing/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace mgtune {
namespace {

std::vector<double> one_to(int count) {
  std::vector<double> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

TEST(Statistics, NoSamplesAreAllZeros) {
  const SampleSummary summary = summarise({});
  EXPECT_EQ(summary.count, 0);
  EXPECT_EQ(summary.median, 0);
  EXPECT_EQ(summary.median_low, 0);
  EXPECT_EQ(summary.median_high, 0);
}

TEST(Statistics, OneSampleIsEverything) {
  const SampleSummary summary = summarise(std::vector<double>{7});
  EXPECT_EQ(summary.count, 1);
  EXPECT_EQ(summary.min, 7);
  EXPECT_EQ(summary.q1, 7);
  EXPECT_EQ(summary.median, 7);
  EXPECT_EQ(summary.q3, 7);
  EXPECT_EQ(summary.median_low, 7);
  EXPECT_EQ(summary.median_high, 7);
}

TEST(Statistics, QuantilesInterpolateLinearly) {
  // numpy.quantile([1, 2, 4, 8], [0.25, 0.5, 0.75]) is [1.75, 3, 5].
  const SampleSummary even = summarise(std::vector<double>{8, 1, 4, 2});
  EXPECT_DOUBLE_EQ(even.q1, 1.75);
  EXPECT_DOUBLE_EQ(even.median, 3);
  EXPECT_DOUBLE_EQ(even.q3, 5);
  EXPECT_DOUBLE_EQ(even.min, 1);

  const SampleSummary odd = summarise(std::vector<double>{50, 10, 40, 20, 30});
  EXPECT_DOUBLE_EQ(odd.q1, 20);
  EXPECT_DOUBLE_EQ(odd.median, 30);
  EXPECT_DOUBLE_EQ(odd.q3, 40);
}

TEST(Statistics, IntervalHasTheRanksOfTheBinomialTable) {
  // Ranks (from 1) of the two-sided 95 % sign interval, as tables of nonparametric statistics give
  // them.
  struct Row {
    int count, low, high;
  };
  for (const Row row : {Row{5, 1, 5}, Row{6, 1, 6}, Row{8, 1, 8}, Row{9, 2, 8}, Row{12, 3, 10},
                        Row{20, 6, 15}, Row{50, 18, 33}, Row{100, 40, 61}}) {
    const SampleSummary summary = summarise(one_to(row.count));
    EXPECT_EQ(summary.median_low, row.low) << row.count;
    EXPECT_EQ(summary.median_high, row.high) << row.count;
  }
}

TEST(Statistics, IntervalOfManySamplesDoesNotUnderflow) {
  // 2^-5000 is no double. The normal approximation gives half the count -+ 0.98 * sqrt(count).
  const SampleSummary summary = summarise(one_to(5000));
  EXPECT_NEAR(summary.median_low, 2500 - 0.98 * std::sqrt(5000), 2);
  EXPECT_NEAR(summary.median_high, 2501 + 0.98 * std::sqrt(5000), 2);
}

TEST(Statistics, IntervalCoversTheMedianAtLeastAsOftenAsPromised) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(15);
    std::ranges::generate(samples, [&] { return skewed(random); });
    const SampleSummary summary = summarise(samples);
    covered += summary.median_low <= 1 && 1 <= summary.median_high;
  }
  EXPECT_GE(covered, kTrials * 0.95);  // exactly 96.5 % for 15 samples
}

TEST(Statistics, OrderDoesNotMatter) {
  std::vector<double> samples = one_to(31);
  const SampleSummary sorted = summarise(samples);
  std::ranges::shuffle(samples, std::mt19937_64(3));
  const SampleSummary shuffled = summarise(samples);
  EXPECT_EQ(sorted.median_low, shuffled.median_low);
  EXPECT_EQ(sorted.q1, shuffled.q1);
  EXPECT_EQ(sorted.min, shuffled.min);
}

}  // namespace
}  // namespace mgtune
