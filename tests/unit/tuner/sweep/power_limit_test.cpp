#include "final/power_limit.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

MeasurementRecord measured(double q3_ns, double power_w) {
  MeasurementRecord record;
  record.q3_ns = q3_ns;
  record.clocks.power_w = power_w;
  return record;
}

TEST(PowerLimit, IsNearFromFourFifthsOn) {
  EXPECT_TRUE(is_near_power_limit(measured(1000, 640).clocks, 700));
  EXPECT_FALSE(is_near_power_limit(measured(1000, 500).clocks, 700));
}

TEST(PowerLimit, WhatIsNotKnownIsNotNear) {
  EXPECT_FALSE(is_near_power_limit(measured(1000, 0).clocks, 700));
  EXPECT_FALSE(is_near_power_limit(measured(1000, 640).clocks, 0));
}

TEST(PowerLimit, NearItRacingLeavesMoreVariants) {
  EXPECT_DOUBLE_EQ(race_limit_ns(measured(1000, 640), 700), 1060);
  EXPECT_DOUBLE_EQ(race_limit_ns(measured(1000, 500), 700), 1000);
  EXPECT_DOUBLE_EQ(race_limit_ns(measured(1000, 640), 0), 1000);
}

}  // namespace
}  // namespace mgtune
