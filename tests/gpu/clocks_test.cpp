// NVML on a real GPU: the device is known by its id, and the readings are plausible.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>

#include "clocks/clock_watch.h"
#include "tests/helpers/real_gpu.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

class Clocks : public RealGpuTest {};

// 0 is what NVML says where a GPU has no such sensor.
TEST_F(Clocks, ArePlausible) {
  const auto watch = open_clock_watch(device().info().id);
  ASSERT_TRUE(watch.ok()) << watch.status().message();
  const ClockSample sample = (*watch)->read();
  std::cout << "SM " << sample.sm_mhz << " MHz, memory " << sample.memory_mhz << " MHz, "
            << sample.power_w << " W, " << sample.temperature_c << " C, reasons 0x" << std::hex
            << sample.reasons << std::dec << " (" << throttle_text(sample.reasons) << ")"
            << std::endl;
  EXPECT_THAT(sample.sm_mhz, AllOf(Ge(100), Le(4000)));
  EXPECT_THAT(sample.memory_mhz, AllOf(Ge(100), Le(20'000)));
  EXPECT_THAT(sample.power_w, AllOf(Ge(5), Le(2000)));
  EXPECT_THAT(sample.temperature_c, AllOf(Ge(10), Le(110)));
  EXPECT_LT(sample.reasons, 1U << 16);
}

TEST_F(Clocks, StayBelowTheirLimits) {
  const Result<ClockLimits> limits = read_clock_limits(device().info().id);
  ASSERT_TRUE(limits.ok()) << limits.status().message();
  std::cout << "at most: SM " << limits->sm_mhz << " MHz, memory " << limits->memory_mhz << " MHz, "
            << limits->power_w << " W" << std::endl;
  const ClockSample sample = open_clock_watch(device().info().id).value()->read();
  EXPECT_LE(sample.sm_mhz, limits->sm_mhz);
  EXPECT_LE(sample.memory_mhz, limits->memory_mhz);
  EXPECT_THAT(limits->power_w, AllOf(Ge(10), Le(3000)));
}

}  // namespace
}  // namespace mgtune
