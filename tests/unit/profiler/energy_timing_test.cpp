// Energies by a counter of a made-up GPU, which is updated every 50 ms, and by a fake NVML.

#include "energy/energy_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "energy/energy_counter.h"
#include "tests/helpers/fakes/fake_nvml.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

// Its clock advances by what the launches take, and its counter in steps.
class MadeUpGpu final : public EnergyCounter {
 public:
  static constexpr double kUpdateSeconds = 0.05;

  Result<double> joules() override {
    if (stands_still) return 7.0;
    const double updates = std::floor(seconds_ / kUpdateSeconds);
    while (updates > updates_) {
      updates_ = updates;
      shown_ = joules_;
    }
    return shown_;
  }

  EnergyWork work(double launch_seconds, double watts) {
    return [this, launch_seconds, watts](std::int64_t launches) -> Status {
      seconds_ += launch_seconds * static_cast<double>(launches);
      joules_ += watts * launch_seconds * static_cast<double>(launches);
      launches_ += launches;
      if (fails_after == 0 || launches_ <= fails_after) return {};
      return Status(StatusCode::launch_failed, "no launch");
    };
  }
  HostClock clock() {
    return [this] { return static_cast<std::int64_t>(seconds_ * 1e9); };
  }

  bool stands_still = false;
  std::int64_t fails_after = 0;

 private:
  double seconds_ = 0, joules_ = 0, shown_ = 0, updates_ = 0;
  std::int64_t launches_ = 0;
};

TEST(EnergyTimingTest, TheEnergyOfALaunchIsWithinItsError) {
  MadeUpGpu gpu;
  const std::vector<EnergyWork> works = {gpu.work(20e-6, 500), gpu.work(25e-6, 300),
                                         gpu.work(30e-3, 200)};
  const Result<TurnEnergy> energy = measure_energy(gpu, works, EnergyBudget{}, gpu.clock());
  ASSERT_TRUE(energy.ok()) << energy.status().message();
  const std::vector<double> expected = {10e-3, 7.5e-3, 6};
  ASSERT_EQ(energy->joules.size(), 3U);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(energy->joules[i], expected[i], energy->error_joules[i]) << i;
    EXPECT_GT(energy->error_joules[i], 0) << i;
  }
  EXPECT_LT(energy->error_joules[0] / energy->joules[0], 0.03) << "short launches in batches";
  EXPECT_GT(energy->error_joules[2] / energy->joules[2], 0.03) << "30 ms of a window of 500";
}

TEST(EnergyTimingTest, ACounterThatStandsStillIsAFailureNotAnEnergyOfZero) {
  MadeUpGpu gpu;
  gpu.stands_still = true;
  const std::vector<EnergyWork> works = {gpu.work(20e-6, 500)};
  const Status status = measure_energy(gpu, works, EnergyBudget{}, gpu.clock()).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("stands still"));
}

TEST(EnergyTimingTest, TheFirstFailureOfALaunchEndsIt) {
  MadeUpGpu gpu;
  gpu.fails_after = 1000;
  const std::vector<EnergyWork> works = {gpu.work(20e-6, 500)};
  const Status status = measure_energy(gpu, works, EnergyBudget{}, gpu.clock()).status();
  EXPECT_EQ(status.code(), StatusCode::launch_failed);
}

class EnergyCounterTest : public testing::Test {
 protected:
  EnergyCounterTest() { loader_.libraries[FakeNvml::kFile] = FakeNvml::symbols(); }

  std::string failure(const std::string& id = FakeNvml::kGpu) {
    const Status status = open_energy_counter(id, loader_).status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_EQ(nvml_.sessions, 0);
    return status.message();
  }

  FakeNvml nvml_;
  FakeLoader loader_;
};

TEST_F(EnergyCounterTest, ReadsJoules) {
  const auto counter = open_energy_counter(FakeNvml::kGpu, loader_).value();
  EXPECT_DOUBLE_EQ(*counter->joules(), 5000);
  nvml_.energy_mj += 250;
  EXPECT_DOUBLE_EQ(*counter->joules(), 5000.25);
}

TEST_F(EnergyCounterTest, SaysWhyThereIsNone) {
  EXPECT_THAT(failure(FakeNvml::kInstance), HasSubstr("a MIG instance has no energy counter"));
  nvml_.refused = {{"nvmlDeviceGetTotalEnergyConsumption", 3}};
  EXPECT_THAT(failure(), HasSubstr("the energy counter of this GPU: "));
  loader_.libraries[FakeNvml::kFile].erase("nvmlDeviceGetTotalEnergyConsumption");
  EXPECT_THAT(failure(), HasSubstr("has no energy counter"));
  loader_.libraries.clear();
  EXPECT_THAT(failure(), HasSubstr("no NVML"));
}

}  // namespace
}  // namespace mgtune
