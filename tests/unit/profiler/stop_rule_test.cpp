#include <gtest/gtest.h>

#include <vector>

#include "timing/timer.h"

namespace mgtune {
namespace {

const std::vector<double> kSteady(6, 1000);
const std::vector<double> kNoisy = {900, 1000, 1100, 950, 1050, 1000};

TEST(StopRule, GoesOnBelowTheLeastSamples) {
  TimingBudget budget;
  budget.stop_above_ns = 1;
  EXPECT_EQ(stop_rule({}, 0, budget), StopRule::go_on);
  EXPECT_EQ(stop_rule(std::vector<double>(5, 1000), 1e12, budget), StopRule::go_on);
}

TEST(StopRule, ANarrowIntervalIsEnough) {
  EXPECT_EQ(stop_rule(kSteady, 5000, {}), StopRule::enough);
  EXPECT_EQ(stop_rule(kNoisy, 5000, {}), StopRule::go_on);
  TimingBudget coarse;
  coarse.relative_half_width = 0.1;
  EXPECT_EQ(stop_rule(kNoisy, 5000, coarse), StopRule::enough);
}

TEST(StopRule, TheBudgetEndsIt) {
  TimingBudget budget;
  EXPECT_EQ(stop_rule(kNoisy, 0.2e9, budget), StopRule::enough);
  budget.max_samples = 6;
  EXPECT_EQ(stop_rule(kNoisy, 5000, budget), StopRule::enough);
}

TEST(StopRule, LosingARaceComesFirst) {
  TimingBudget budget;
  budget.stop_above_ns = 899;
  EXPECT_EQ(stop_rule(kNoisy, 5000, budget), StopRule::censored);
  budget.stop_above_ns = 901;  // the interval of six samples is all of them
  EXPECT_EQ(stop_rule(kNoisy, 5000, budget), StopRule::go_on);
  budget.stop_above_ns = 500;
  EXPECT_EQ(stop_rule(kSteady, 5000, budget), StopRule::censored);
}

}  // namespace
}  // namespace mgtune
