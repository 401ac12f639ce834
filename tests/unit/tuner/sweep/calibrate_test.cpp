// Calibrations with a worker that makes its rates up, and ceilings that a sweep takes from the
// store.

#include "calibration/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "device/device_lock.h"
#include "selection/variant_selection.h"
#include "system/utc_now.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CalibrateTest : public StoreTest {
 protected:
  CalibrateTest() {
    device_.kind = DeviceKind::cuda;
    device_.id = "GPU-1";
    device_.name = "NVIDIA H200";
    device_.arch = "sm_90";
    device_.driver = "580.1, CUDA 13.0";
    options_.method = {"rotating", ""};
    options_.command = "mgtune calibrate";
    options_.program = fake_worker_path();
    options_.lock_directory = folder_.path();
  }

  Result<CalibrateSummary> run() {
    return calibrate(
        options_, device_, store_,
        [this](const CalibrateProgress& progress) { seen_.push_back(progress); },
        [this] { return stop_after_ >= 0 && static_cast<int>(seen_.size()) >= stop_after_; });
  }

  std::vector<CeilingView> stored() {
    return store_.ceilings(store_.gpu_id(gpu_record(device_)).value()).value();
  }

  DeviceInfo device_;
  SweepOptions options_;
  Store store_ = open();
  std::vector<CalibrateProgress> seen_;
  int stop_after_ = -1;
};

TEST_F(CalibrateTest, RecordsEveryCeilingUnderOneSweep) {
  const Result<CalibrateSummary> summary = run();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->ceilings.size(), 23U);  // 10 sizes of copy and read each, fp32, two of mma
  EXPECT_THAT(summary->failed, IsEmpty());
  EXPECT_THAT(summary->lacking,
              ElementsAre("wgmma_f16: no wgmma here", "wgmma_bf16: no wgmma here"));
  EXPECT_FALSE(summary->stopped_early);
  EXPECT_EQ(stored().size(), 23U);
  EXPECT_EQ(stored().front().driver, device_.driver);
  EXPECT_EQ(summary->ceilings.front().clocks.sm_mhz, 1980);

  const std::vector<SweepView> sweeps = store_.sweeps().value();
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(stored().front().sweep, sweeps[0].sweep.id);
  EXPECT_EQ(sweeps[0].sweep.strategy, "calibrate");
  EXPECT_EQ(sweeps[0].sweep.command, "mgtune calibrate");
  EXPECT_NE(sweeps[0].sweep.finished_at, "");
}

TEST_F(CalibrateTest, SaysWhatIsNext) {
  ASSERT_TRUE(run().ok());
  ASSERT_EQ(seen_.size(), 25U);
  EXPECT_EQ(seen_[0].total, 25);
  EXPECT_EQ(seen_[9].done, 9);
  EXPECT_EQ(seen_[9].next.kind, "copy");
  EXPECT_EQ(seen_[9].next.bytes, 512 << 20);
  EXPECT_EQ(seen_[10].next.kind, "read");
  EXPECT_EQ(seen_[10].next.bytes, 1 << 20);
  EXPECT_EQ(seen_[24].next.kind, "wgmma_bf16");
}

TEST_F(CalibrateTest, AFailureLeavesTheOthers) {
  for (const char* how : {"crash", "failure"}) {
    device_.id = std::string("GPU-1 fp32: ") + how;
    const Result<CalibrateSummary> summary = run();
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary->ceilings.size(), 22U);
    ASSERT_EQ(summary->failed.size(), 1U);
    EXPECT_THAT(summary->failed[0], testing::StartsWith("fp32: "));
  }
  device_.id = "GPU-1 copy: failure";
  const Result<CalibrateSummary> summary = run();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_EQ(summary->failed.size(), 10U);
  EXPECT_EQ(summary->failed[1], "copy of 2 MiB: it does not copy");
}

TEST_F(CalibrateTest, StopsBetweenCeilings) {
  stop_after_ = 3;
  const Result<CalibrateSummary> summary = run();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary->stopped_early);
  EXPECT_EQ(summary->ceilings.size(), 3U);
  EXPECT_EQ(stored().size(), 3U);
}

TEST_F(CalibrateTest, ASweepOnTheGpuIsNotDisturbed) {
  const auto lock = DeviceLock::acquire(folder_.path(), device_.id);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(run().status().code(), StatusCode::environment);
}

TEST_F(CalibrateTest, AWorkerThatDoesNotStartEndsIt) {
  options_.program = folder_.file("none");
  EXPECT_EQ(run().status().code(), StatusCode::environment);
  EXPECT_EQ(seen_.size(), 1U);
  EXPECT_THAT(store_.sweeps().value(), IsEmpty());
}

TEST_F(CalibrateTest, TheCpuDeviceHasNone) {
  device_.kind = DeviceKind::cpu;
  const Status status = run().status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("emulates"));
}

class CeilingSource : public CalibrateTest {
 protected:
  // Whether a sweep would take the ceiling that the store has for this.
  bool is_fresh(const CeilingNeed& need, const std::string& driver = "580.1, CUDA 13.0") {
    const auto found = find_fresh_ceiling(store_, gpu_, driver, need);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() && found->has_value();
  }

  void record(const std::string& measured_at, double rate = 4e12) {
    SweepRecord sweep;
    sweep.gpu = gpu_;
    EnvironmentRecord environment = kEnvironment;
    environment.driver = device_.driver;
    sweep.environment = *store_.environment_id(environment);
    sweep.started_at = measured_at;
    const std::int64_t id = *store_.begin_sweep(sweep);
    CeilingRecord ceiling{"copy", "rotating", 1 << 20, rate, measured_at, {}};
    ASSERT_TRUE(store_.record_ceiling(id, gpu_, ceiling).ok());
  }

  static std::string days_ago(int days) { return utc_before_now(std::chrono::hours(24 * days)); }

  std::int64_t gpu_ = *store_.gpu_id(kH200Record);
  const CeilingNeed need_{"copy", "rotating", 1 << 20};
};

TEST_F(CeilingSource, TakesWhatIsFresh) {
  EXPECT_FALSE(is_fresh(need_));
  record(days_ago(29));
  EXPECT_TRUE(is_fresh(need_));
  EXPECT_EQ(find_fresh_ceiling(store_, gpu_, device_.driver, need_)->value().rate, 4e12);
}

TEST_F(CeilingSource, WhatIsOldIsMeasuredAgain) {
  record(days_ago(31));
  EXPECT_FALSE(is_fresh(need_));
  record("");  // of a store that did not write it down
  EXPECT_FALSE(is_fresh(need_));
}

TEST_F(CeilingSource, AnotherGpuDriverMethodKindOrSizeIsAnother) {
  record(utc_now());
  EXPECT_TRUE(is_fresh(need_));
  EXPECT_FALSE(is_fresh(need_, "590.1, CUDA 13.1"));
  EXPECT_FALSE(is_fresh({"read", "rotating", 1 << 20}));
  EXPECT_FALSE(is_fresh({"copy", "graph", 1 << 20}));
  EXPECT_FALSE(is_fresh({"copy", "rotating", 2 << 20}));
  gpu_ = *store_.gpu_id(kCpuRecord);
  EXPECT_FALSE(is_fresh(need_));
}

TEST_F(CeilingSource, ARateOfNothingIsNone) {
  record(utc_now(), 0);
  EXPECT_FALSE(is_fresh(need_));
}

TEST_F(CeilingSource, AWorkersAnswerBecomesAStatus) {
  const auto request = [](const std::string& device, const std::string& kind) {
    DeviceInfo gpu;
    gpu.id = device;
    MeasurePool worker(fake_worker_path(), {gpu}, {"rotating", ""}, std::chrono::seconds(10));
    return request_ceiling(worker, 1, {kind, "rotating", 0});
  };
  const Result<CeilingRecord> ceiling = request("GPU-1", "fp32");
  ASSERT_TRUE(ceiling.ok()) << ceiling.status().message();
  EXPECT_EQ(ceiling->kind, "fp32");
  EXPECT_EQ(request("GPU-1", "wgmma_f16").status().code(), StatusCode::unsupported);
  EXPECT_EQ(request("GPU-1 fp32: crash", "fp32").status().code(), StatusCode::launch_failed);
  EXPECT_EQ(request("GPU-1 fp32: failure", "fp32").status().code(), StatusCode::internal);
}

// The peaks of the tensor cores take 2 to 6 s each on an H200. The weights of a linear layer that
// is multiplied by 8 rows bring 8 operations per byte: to time the tensor cores for it took longer
// than the sweep.
TEST(ArithmeticCeilings, AreThoseThatMayLimitTheProblem) {
  const std::set<DType> bf16 = {DType::bf16, DType::i32};
  EXPECT_THAT(arithmetic_ceilings_of(1, bf16), IsEmpty());
  EXPECT_THAT(arithmetic_ceilings_of(8, bf16), ElementsAre("fp32"));
  EXPECT_THAT(arithmetic_ceilings_of(100, bf16), ElementsAre("fp32", "mma_bf16", "wgmma_bf16"));
  EXPECT_THAT(arithmetic_ceilings_of(100, {DType::f16, DType::f32}),
              ElementsAre("fp32", "mma_f16", "wgmma_f16"));
  EXPECT_THAT(arithmetic_ceilings_of(100, {DType::f32}), ElementsAre("fp32"));
}

}  // namespace
}  // namespace mgtune
