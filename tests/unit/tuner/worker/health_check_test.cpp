#include "measure/health_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/helpers/fakes/fake_device.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

class HealthCheckTest : public ::testing::Test {
 protected:
  HealthCheckTest() {
    device_.device_info.index = 3;
    device_.parameters["health"] = {8, 4, 4};
    device_.on_launch = [this](const KernelLaunch& launch) { return run(launch); };
  }

  // The kernel, as a GPU runs it that gets the element `wrong_` wrong.
  Status run(const KernelLaunch& launch) {
    if (!failure_.ok()) return failure_;
    auto* out = *static_cast<std::uint32_t**>(launch.args[0]);
    const std::uint32_t seed = *static_cast<std::uint32_t*>(launch.args[1]);
    const std::uint32_t count = *static_cast<std::uint32_t*>(launch.args[2]);
    EXPECT_EQ(launch.grid[0] * launch.block[0], count);
    for (std::uint32_t i = 0; i < count; ++i) out[i] = (i * 2654435761U) ^ seed;
    if (wrong_ < count) out[wrong_] ^= 1;
    return {};
  }

  Status check() {
    Builder builder = fake_builder();
    return check_health(device_, builder);
  }

  FakeDevice device_;
  Status failure_;
  std::uint32_t wrong_ = UINT32_MAX;
};

TEST_F(HealthCheckTest, AGpuThatComputesIsWell) {
  EXPECT_TRUE(check().ok()) << check().message();
  EXPECT_GT(device_.launches, 0);
}

TEST_F(HealthCheckTest, OneWrongElementIsEnough) {
  for (const std::uint32_t element : {0U, 1U, (1U << 20) - 1}) {
    wrong_ = element;
    const Status status = check();
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_THAT(status.message(), HasSubstr("Fake H200 (3) does not work: a kernel wrote"));
  }
}

TEST_F(HealthCheckTest, WhatTheDriverSaysIsPassedOn) {
  failure_ = Status(StatusCode::device_lost, "launching: CUDA_ERROR_ILLEGAL_ADDRESS");
  const Status status = check();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(HealthCheckTest, AKernelThatDoesNotBuildSaysNothingOfTheGpu) {
  Builder builder = fake_builder("health");
  EXPECT_EQ(check_health(device_, builder).code(), StatusCode::compile_failed);
}

TEST_F(HealthCheckTest, TheCpuDeviceIsAlwaysWell) {
  device_.device_info.kind = DeviceKind::cpu;
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(device_.launches, 0);
}

}  // namespace
}  // namespace mgtune
