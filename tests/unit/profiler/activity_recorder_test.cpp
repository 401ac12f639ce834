#include "cupti/activity_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/helpers/fakes/fake_gpu.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ActivityRecorderTest : public testing::Test {
 protected:
  CuptiLibrary cupti() { return open_cupti(gpu_.loader).value(); }

  std::unique_ptr<ActivityRecorder> recorder() {
    auto made = ActivityRecorder::make(cupti());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }

  // The simulated GPU has run it when this returns.
  void run(double ns, bool is_memset = false) {
    EXPECT_TRUE(gpu_.cuda.launch(nullptr, ns, is_memset).ok());
    EXPECT_EQ(gpu_.driver.cuCtxSynchronize(), CUDA_SUCCESS);
  }

  FakeGpu gpu_;
};

TEST_F(ActivityRecorderTest, GivesKernelsAndMemsetsBetweenBeginAndEnd) {
  const auto recording = recorder();
  run(7000);  // before
  ASSERT_TRUE(recording->begin().ok());
  run(1000, true);
  run(2000);
  const Result<Activity> activity = recording->end();
  ASSERT_TRUE(activity.ok());
  ASSERT_THAT(activity->operations, SizeIs(2));
  const auto& [memset, kernel] = std::pair(activity->operations[0], activity->operations[1]);
  EXPECT_EQ(memset.end_ns - memset.start_ns, 1000U);
  EXPECT_EQ(kernel.end_ns - kernel.start_ns, 2000U);
  EXPECT_LT(memset.end_ns, kernel.start_ns);
  EXPECT_EQ(activity->dropped, 0);
  EXPECT_EQ(activity->without_time, 0);
}

TEST_F(ActivityRecorderTest, OrdersByStart) {
  const auto recording = recorder();
  ASSERT_TRUE(recording->begin().ok());
  gpu_.cuda.ran = {{false, 300, 400}, {false, 100, 200}, {true, 200, 250}};
  EXPECT_THAT(
      recording->end()->operations,
      ElementsAre(DeviceOperation{100, 200}, DeviceOperation{200, 250}, DeviceOperation{300, 400}));
}

TEST_F(ActivityRecorderTest, CountsWhatWasDropped) {
  const auto recording = recorder();
  ASSERT_TRUE(recording->begin().ok());
  gpu_.cupti.drop_next = 2;
  for (int i = 0; i < 5; ++i) run(1000);
  const Result<Activity> activity = recording->end();
  ASSERT_TRUE(activity.ok());
  EXPECT_THAT(activity->operations, SizeIs(3));
  EXPECT_EQ(activity->dropped, 2);
  ASSERT_TRUE(recording->begin().ok());
  EXPECT_EQ(recording->end()->dropped, 0);
}

TEST_F(ActivityRecorderTest, CountsWhatHasNoTime) {
  const auto recording = recorder();
  ASSERT_TRUE(recording->begin().ok());
  gpu_.cupti.no_time_next = 1;
  run(1000);
  run(1000, true);
  const Result<Activity> activity = recording->end();
  ASSERT_TRUE(activity.ok());
  EXPECT_THAT(activity->operations, SizeIs(1));
  EXPECT_EQ(activity->without_time, 1);
}

TEST_F(ActivityRecorderTest, FillsManyBuffersAndUsesThemAgain) {
  const auto recording = recorder();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(recording->begin().ok());
    for (int i = 0; i < 10'000; ++i) {
      gpu_.cuda.ran.push_back({false, 100.0 * i + 1, 100.0 * i + 50});
    }
    const Result<Activity> activity = recording->end();
    ASSERT_TRUE(activity.ok());
    EXPECT_THAT(activity->operations, SizeIs(10'000));
    EXPECT_EQ(activity->operations.back(), (DeviceOperation{999'901, 999'950}));
  }
  EXPECT_GT(gpu_.cupti.buffers_requested, 6U);
  EXPECT_EQ(gpu_.cupti.buffers_out, 0U);
}

TEST_F(ActivityRecorderTest, LeavesNothingBehind) {
  {
    const auto recording = recorder();
    EXPECT_THAT(gpu_.cupti.enabled,
                ElementsAre(CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    run(1000);
  }
  EXPECT_THAT(gpu_.cupti.enabled, IsEmpty());
  EXPECT_FALSE(gpu_.cupti.subscribed);
  EXPECT_EQ(gpu_.cupti.buffers_out, 0U);
  const auto again = recorder();
  ASSERT_TRUE(again->begin().ok());
  run(500);
  EXPECT_THAT(again->end()->operations, SizeIs(1));
}

TEST_F(ActivityRecorderTest, ASecondOneIsRefusedAndDisturbsNothing) {
  const auto first = recorder();
  ASSERT_TRUE(first->begin().ok());
  run(1000);
  EXPECT_EQ(ActivityRecorder::make(cupti()).status().code(), StatusCode::environment);
  // Also where CUPTI itself would let two subscribe.
  gpu_.cupti.subscribed = false;
  EXPECT_EQ(ActivityRecorder::make(cupti()).status().message(),
            "another timer of this process holds CUPTI already");
  EXPECT_THAT(first->end()->operations, SizeIs(1));
}

TEST_F(ActivityRecorderTest, SaysWhatCuptiRefuses) {
  gpu_.cupti.enable_result = CUPTI_ERROR_NOT_SUPPORTED;
  const Status status = ActivityRecorder::make(cupti()).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "recording kernels with CUPTI: CUPTI_ERROR_OTHER");
  gpu_.cupti.enable_result = CUPTI_SUCCESS;
  EXPECT_TRUE(ActivityRecorder::make(cupti()).ok());
}

}  // namespace
}  // namespace mgtune
