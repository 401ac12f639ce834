// Arithmetic ceilings on the cpu device: the real kernels that it can run, times of a made-up
// timer, and results that are not what they should be.

#include "ceilings/arithmetic_ceiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <memory>
#include <vector>

#include "device/registry.h"
#include "tests/helpers/fakes/fake_timer.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

constexpr double kLongEnoughNs = 2e6;  // for the steps that a shape begins with

// Another kernel; its results are held against one step more than it was told to do.
ArithmeticKernel one_step_short(ArithmeticKernel kernel) {
  kernel.check = [check = kernel.check](std::size_t i, ArithmeticKernel::Block block) {
    ++block.steps;
    return check(i, block);
  };
  return kernel;
}

class ArithmeticCeiling : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = new TestFolder;
    // Under AddressSanitizer on a loaded machine one launch may take longer than the device's 20 s.
    ::setenv("MGTUNE_CPU_DEADLINE_S", "200", 1);
  }
  static void TearDownTestSuite() {
    delete cache_;
    cache_ = nullptr;
  }

  Result<CeilingRecord> measure(Timer& timer, const ArithmeticKernel& kernel) {
    return measure_arithmetic(*device_, builder_, timer, kernel);
  }

  // A timer for which shape `winner` is the best: each shape is timed for its steps, then for its
  // rate.
  static FakeTimer won_by(std::size_t winner, std::size_t shapes) {
    std::vector<double> times(2 * shapes + 1, kLongEnoughNs);
    for (std::size_t i = 0; i < shapes; ++i) times[2 * i + 1] = i == winner ? 1 : 1e12;
    FakeTimer timer(times);
    timer.turns = 0;  // only the launch that is checked
    return timer;
  }

  // Each wins once, and the winner's results are checked.
  void expect_right_in_every_shape(const ArithmeticKernel& kernel) {
    const std::size_t shapes = kernel.shapes.size();
    for (std::size_t i = 0; i < shapes; ++i) {
      FakeTimer timer = won_by(i, shapes);
      const Result<CeilingRecord> ceiling = measure(timer, kernel);
      EXPECT_TRUE(ceiling.ok()) << kernel.shapes[i].kernel << ": " << ceiling.status().message();
    }
    FakeTimer timer = won_by(0, shapes);
    const Status wrong = measure(timer, one_step_short(kernel)).status();
    EXPECT_EQ(wrong.code(), StatusCode::internal);
    EXPECT_THAT(wrong.message(), HasSubstr(kernel.shapes.front().kernel));
  }

  static TestFolder* cache_;  // one for all tests here: a build costs seconds
  std::unique_ptr<Device> device_ = open_device("cpu").value();
  Builder builder_{BuildCache(FileSystem::real(), cache_->path())};
};

TestFolder* ArithmeticCeiling::cache_ = nullptr;

TEST_F(ArithmeticCeiling, MultiplyAddsAreRightInEveryShape) {
  expect_right_in_every_shape(fma_kernel(device_->info()));
}

TEST_F(ArithmeticCeiling, ProductsAreRightInEveryShape) {
  expect_right_in_every_shape(*mma_kernel(device_->info(), DType::f16));
  expect_right_in_every_shape(*mma_kernel(device_->info(), DType::bf16));
}

TEST_F(ArithmeticCeiling, ProductsOfTheOldestTensorCoresAreRight) {
  DeviceInfo turing = device_->info();
  turing.limits.compute_capability = 75;
  const auto kernel = mma_kernel(turing, DType::f16);
  ASSERT_TRUE(kernel.ok());
  EXPECT_THAT(kernel->shapes.front().kernel, HasSubstr("<__half, 8, "));
  expect_right_in_every_shape(*kernel);
}

TEST_F(ArithmeticCeiling, IsTheBestShapesRate) {
  const auto kernel = fma_kernel(device_->info());
  const std::vector<ArithmeticShape>& shapes = kernel.shapes;
  // Each shape is timed for its steps and once more for its rate; the winner's steps once more.
  FakeTimer timer({kLongEnoughNs});
  timer.turns = 0;
  const Result<CeilingRecord> ceiling = measure(timer, kernel);
  ASSERT_TRUE(ceiling.ok()) << ceiling.status().message();
  EXPECT_EQ(timer.bests_ns.size(), 2 * shapes.size() + 1);
  double most_flops = 0;
  for (const ArithmeticShape& shape : shapes) {
    const std::int64_t blocks = shape.blocks_per_sm * device_->info().limits.sm_count;
    most_flops = std::max(most_flops, static_cast<double>(blocks * shape.block_flops * 2));
  }
  EXPECT_NEAR(ceiling->rate, most_flops / kLongEnoughNs * 1e9, ceiling->rate * 1e-9);
}

TEST_F(ArithmeticCeiling, LaunchesAreMadeLongEnough) {
  const auto kernel = fma_kernel(device_->info());
  // Of the first shape: 2 steps are too short, 64 times as many by a little; then its rate.
  std::vector<double> times = {10e3, 0.8e6, 1.1e6, 1.1e6};
  for (std::size_t i = 1; i < kernel.shapes.size(); ++i) {
    times.push_back(kLongEnoughNs);
    times.push_back(1e12);
  }
  times.push_back(kLongEnoughNs);  // for the check
  FakeTimer timer(times);
  timer.turns = 0;
  const Result<CeilingRecord> ceiling = measure(timer, kernel);
  ASSERT_TRUE(ceiling.ok()) << ceiling.status().message();
  EXPECT_EQ(timer.bests_ns.size(), times.size());
  const ArithmeticShape& shape = kernel.shapes.front();
  const std::int64_t blocks = shape.blocks_per_sm * device_->info().limits.sm_count;
  const std::int64_t steps = 2 * 64 * 3 / 2;
  const auto flops = static_cast<double>(blocks * shape.block_flops * steps);
  EXPECT_NEAR(ceiling->rate, flops / 1.1e6 * 1e9, ceiling->rate * 1e-9);
}

TEST_F(ArithmeticCeiling, AFailureOfTheTimerIsItsOwn) {
  FakeTimer timer({kLongEnoughNs});
  timer.failure = Status(StatusCode::device_lost, "gone");
  const Status status = measure(timer, fma_kernel(device_->info())).status();
  EXPECT_EQ(status.code(), StatusCode::device_lost);
}

TEST_F(ArithmeticCeiling, WhatADeviceLacksIsSaid) {
  DeviceInfo info = device_->info();
  info.name = "NVIDIA T4";
  info.limits.compute_capability = 75;
  EXPECT_EQ(mma_kernel(info, DType::bf16).status().message(),
            "NVIDIA T4 has no tensor-core products of bf16: they came with compute capability 8.0");
  info.limits.compute_capability = 70;
  EXPECT_EQ(mma_kernel(info, DType::f16).status().code(), StatusCode::unsupported);
  EXPECT_EQ(wgmma_kernel(info, DType::f16).status().message(),
            "NVIDIA T4 has no wgmma: only GPUs of compute capability 9.0 do");
}

TEST_F(ArithmeticCeiling, KindsHaveNames) {
  FakeTimer timer({kLongEnoughNs});
  timer.turns = 0;
  const auto rate = [&](const std::string& kind, std::int64_t bytes) {
    return measure_ceiling(*device_, builder_, timer, kind, bytes);
  };
  for (const std::string& kind : ceiling_kinds()) {
    const Result<CeilingRecord> measured = rate(kind, 1 << 20);
    if (kind.starts_with("wgmma")) {
      EXPECT_EQ(measured.status().code(), StatusCode::unsupported);
      continue;
    }
    ASSERT_TRUE(measured.ok()) << kind << ": " << measured.status().message();
    if (is_memory_ceiling(kind)) {
      EXPECT_DOUBLE_EQ(measured->rate, (1 << 20) / kLongEnoughNs * 1e9) << kind;
    }
  }
  const Status unknown = rate("mma_fp16", 0).status();
  EXPECT_EQ(unknown.code(), StatusCode::invalid_argument);
  EXPECT_THAT(unknown.message(), HasSubstr("mma_f16"));
}

// Its results, as the block would write them, out of the bytes of shared memory.
TEST(WgmmaKernel, ChecksTheLayoutOfSharedMemory) {
  DeviceInfo hopper;
  hopper.kind = DeviceKind::cuda;
  hopper.limits.compute_capability = 90;
  const auto kernel = wgmma_kernel(hopper, DType::f16).value();
  EXPECT_EQ(kernel.arch, "sm_90a");
  const ArithmeticShape& shape = kernel.shapes[1];
  ASSERT_EQ(shape.kernel, "wgmma_peak<__half, 256, 2>");
  ASSERT_EQ(shape.shared_bytes, (2 * 64 + 256) * 128U);

  std::vector<std::uint32_t> table(1 << 16);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto low = f16_from_float(std::sin(static_cast<float>(i)));
    const auto high = f16_from_float(std::cos(static_cast<float>(3 * i)));
    table[i] = low | static_cast<std::uint32_t>(high) << 16;
  }
  const std::size_t block = 5;
  const std::int64_t steps = 3;
  // Bits 4 to 6 of an address are exchanged for their exclusive or with bits 7 to 9.
  const auto element = [&](std::size_t row, std::size_t k) {
    std::size_t byte = row * 128 + k * 2;
    byte ^= (byte >> 7 & 7) << 4;
    const std::uint32_t word = table[(block * shape.shared_bytes / 4 + byte / 4) % table.size()];
    return float_from_f16(static_cast<std::uint16_t>(word >> (byte % 4 * 8)));
  };
  std::vector<float> out(static_cast<std::size_t>(shape.block_floats));
  for (std::size_t thread = 0; thread < 256; ++thread) {
    for (std::size_t n = 0; n < 128; ++n) {
      const std::size_t row =
          thread / 128 * 64 + thread % 128 / 32 * 16 + thread % 32 / 4 + n % 4 / 2 * 8;
      const std::size_t column = n / 4 * 8 + thread % 4 * 2 + n % 2;
      float sum = 0;
      for (std::size_t k = 0; k < 64; ++k) sum += element(row, k) * element(128 + column, k);
      out[(thread / 128 * 128 + n) * 128 + thread % 128] = sum * static_cast<float>(steps);
    }
  }
  const auto check = [&] { return kernel.check(1, {block, steps, table, out}); };
  EXPECT_TRUE(check().ok()) << check().message();
  out[777] = std::nanf("");
  EXPECT_EQ(check().code(), StatusCode::internal);
}

}  // namespace
}  // namespace mgtune
