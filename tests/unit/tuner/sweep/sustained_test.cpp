#include "final/sustained.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TunedView problem(double bytes, double flops) {
  TunedView view;
  view.bytes = bytes;
  view.flops = flops;
  return view;
}

TEST(Sustained, ClocksDecideWhereArithmeticIsIntense) {
  EXPECT_TRUE(depends_on_clocks(problem(1000, 16'000), DeviceKind::cuda));
  EXPECT_FALSE(depends_on_clocks(problem(1000, 15'000), DeviceKind::cuda));
  EXPECT_FALSE(depends_on_clocks(problem(0, 15'000), DeviceKind::cuda)) << "not known";
  EXPECT_FALSE(depends_on_clocks(problem(1000, 16'000), DeviceKind::cpu));
}

TEST(Sustained, ThereRacingLeavesMoreVariants) {
  EXPECT_DOUBLE_EQ(race_limit_ns(1000, problem(1000, 16'000), DeviceKind::cuda), 1070);
  EXPECT_DOUBLE_EQ(race_limit_ns(1000, problem(1000, 1000), DeviceKind::cuda), 1000);
  EXPECT_DOUBLE_EQ(race_limit_ns(1000, problem(1000, 16'000), DeviceKind::cpu), 1000);
}

TEST(Sustained, TimesThatFollowTheClockAreInverselyProportionalToIt) {
  EXPECT_TRUE(follows_clock(problem(1000, 200'000), DeviceKind::cuda));
  EXPECT_FALSE(follows_clock(problem(1000, 199'000), DeviceKind::cuda)) << "memory limits it";
  EXPECT_FALSE(follows_clock(problem(1000, 200'000), DeviceKind::cpu));
  ClockRecord clocks;
  clocks.sm_mhz = 1500;
  EXPECT_DOUBLE_EQ(factor_to_clock(clocks, 1800), 1500.0 / 1800);
  EXPECT_EQ(factor_to_clock(clocks, 0), 1);
  clocks.sm_mhz = 0;
  EXPECT_EQ(factor_to_clock(clocks, 1800), 1);
}

}  // namespace
}  // namespace mgtune
