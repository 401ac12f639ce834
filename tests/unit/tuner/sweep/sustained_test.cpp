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

TEST(Sustained, TimesAreInverselyProportionalToTheClock) {
  MeasurementRecord measurement;
  measurement.median_ns = 1200;
  measurement.q3_ns = 1320;
  measurement.clocks.sm_mhz = 1500;
  EXPECT_DOUBLE_EQ(at_clock(measurement, 1800).median_ns, 1000);
  EXPECT_DOUBLE_EQ(at_clock(measurement, 1800).q3_ns, 1100);
  EXPECT_EQ(at_clock(measurement, 0), measurement);
  measurement.clocks.sm_mhz = 0;
  EXPECT_EQ(at_clock(measurement, 1800), measurement);
}

}  // namespace
}  // namespace mgtune
