// Ceilings on a real GPU. Each one's kernel is checked for its results as it is measured.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>

#include "build/builder.h"
#include "ceilings/ceiling.h"
#include "system/file_system.h"
#include "tests/helpers/real_gpu.h"
#include "timing/gpu_timer.h"

namespace mgtune {
namespace {

class Ceilings : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto made = make_gpu_timer(device(), builder_, default_gpu_method());
    ASSERT_TRUE(made.ok()) << made.status().message();
    timer_ = std::move(*made);
  }

  void TearDown() override {
    timer_.reset();
    RealGpuTest::TearDown();
  }

  // In units of 10^9; 0 where the GPU has no such thing.
  double rate(const std::string& kind, std::int64_t bytes = 0) {
    const Result<CeilingRecord> measured =
        measure_ceiling(device(), builder_, *timer_, kind, bytes);
    if (measured.status().code() == StatusCode::unsupported) {
      std::cout << kind << ": " << measured.status().message() << std::endl;
      return 0;
    }
    EXPECT_TRUE(measured.ok()) << kind << ": " << measured.status().message();
    if (!measured.ok()) return 0;
    const double rate = measured->rate * 1e-9;
    std::cout << kind << " " << (bytes >> 20) << " MiB: " << rate << " G/s, SM "
              << measured->clocks.sm_mhz << " MHz, " << measured->clocks.throttle_reasons
              << std::endl;
    return rate;
  }

  Builder builder_{BuildCache(FileSystem::real(), ""),
                   [](const std::string& arch) { return make_nvrtc_compiler(arch); }};
  std::unique_ptr<Timer> timer_;
};

TEST_F(Ceilings, OfMemoryGrowWithTheBytes) {
  const double small = rate("copy", 1 << 20);
  const double large = rate("copy", 512 << 20);
  EXPECT_GT(small, 20);
  EXPECT_GT(large, small);
  EXPECT_LT(large, 20'000);
  if (device().info().name.find("H200") != std::string::npos) {
    EXPECT_GT(large, 0.5 * 4800);  // of the memory's own rate
  }
  // Within what two runs differ by: memory that only reads is no slower.
  EXPECT_GT(rate("read", 512 << 20), 0.98 * large);
  EXPECT_GT(rate("read", 1 << 20), 20);
}

// Two operations each, of the multiply-adds that an SM issues each clock, at 1 to 4 GHz.
TEST_F(Ceilings, OfFp32IsAboutEveryCoreEveryClock) {
  const auto sm_count = static_cast<double>(device().info().limits.sm_count);
  const double fp32 = rate("fp32");
  EXPECT_GT(fp32, sm_count * 64 * 2 * 0.7);
  EXPECT_LT(fp32, sm_count * 128 * 2 * 4);
}

TEST_F(Ceilings, OfTensorCoresAreAboveFp32) {
  const double fp32 = rate("fp32");
  const std::int64_t capability = device().info().limits.compute_capability;
  const double mma_f16 = rate("mma_f16");
  const double mma_bf16 = rate("mma_bf16");
  if (capability >= 75) {
    EXPECT_GT(mma_f16, 1.2 * fp32);
  }
  if (capability >= 80) {
    EXPECT_GT(mma_bf16, 0.9 * mma_f16);
  }
  if (capability != 90) return;
  const double wgmma_f16 = rate("wgmma_f16");
  const double wgmma_bf16 = rate("wgmma_bf16");
  EXPECT_GT(wgmma_f16, 1.1 * mma_f16);
  EXPECT_GT(wgmma_bf16, 0.9 * wgmma_f16);
  // 4096 operations an SM and clock are what the hardware has.
  const auto sm_count = static_cast<double>(device().info().limits.sm_count);
  EXPECT_LT(wgmma_bf16, sm_count * 4096 * 2.1);
}

}  // namespace
}  // namespace mgtune
