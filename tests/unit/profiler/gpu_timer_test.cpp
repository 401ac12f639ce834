#include "timing/gpu_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/helpers/fakes/fake_gpu.h"

namespace mgtune {
namespace {

class GpuTimerTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Timer>> make(const std::string& name, const std::string& reason = "") {
    return make_gpu_timer(gpu_.device, builder_, {name, reason}, gpu_.driver, gpu_.loader);
  }

  std::string note(Timer& timer) {
    const TimedWork work = [this](std::int64_t, Stream stream) {
      return gpu_.cuda.launch(stream, 20'000);
    };
    return timer.time(work, {})->note;
  }

  FakeGpu gpu_;
  Builder builder_ = fake_builder();
};

TEST_F(GpuTimerTest, RotatingIsByCupti) {
  const auto timer = make("rotating");
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  EXPECT_EQ((*timer)->method(), "rotating");
  EXPECT_EQ(note(**timer), "");
}

TEST_F(GpuTimerTest, RotatingIsTheDefaultWhereCuptiIsToBeHad) {
  const TimingMethod method = default_gpu_method(gpu_.loader);
  EXPECT_EQ(method.name, "rotating");
  EXPECT_EQ(method.reason, "");
  EXPECT_TRUE(make("rotating").ok()) << "asking gives CUPTI's place back";
}

TEST_F(GpuTimerTest, EventsAreTheDefaultWhenAnotherToolHoldsCupti) {
  gpu_.cupti.subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const TimingMethod method = default_gpu_method(gpu_.loader);
  EXPECT_EQ(method.name, "rotating_events");
  EXPECT_THAT(method.reason, testing::StartsWith("another tool holds CUPTI"));
  const auto timer = make(method.name, method.reason);
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  EXPECT_EQ((*timer)->method(), "rotating_events");
  EXPECT_THAT(note(**timer), testing::StartsWith("CUDA events, launch gaps included: another tool "
                                                 "holds CUPTI"));
  EXPECT_EQ(make("rotating").status().code(), StatusCode::environment)
      << "a method that was asked for is never another";
}

TEST_F(GpuTimerTest, EventsAreTheDefaultWhereCuptiMayNotRecord) {
  gpu_.cupti.enable_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  const TimingMethod method = default_gpu_method(gpu_.loader);
  EXPECT_EQ(method.name, "rotating_events");
  EXPECT_NE(method.reason, "");
}

TEST_F(GpuTimerTest, EventsAreTheDefaultWithoutCupti) {
  gpu_.loader.libraries.erase(FakeCupti::file_name());
  const TimingMethod method = default_gpu_method(gpu_.loader);
  EXPECT_EQ(method.name, "rotating_events");
  EXPECT_THAT(method.reason, testing::StartsWith("no CUPTI: not found: "));
  EXPECT_THAT(make("rotating").status().message(), testing::StartsWith("no CUPTI: not found: "));
}

TEST_F(GpuTimerTest, OtherMethodsLeaveCuptiAlone) {
  gpu_.loader.asked_for.clear();
  const auto events = make("rotating_events", "as asked for");
  ASSERT_TRUE(events.ok());
  EXPECT_EQ((*events)->method(), "rotating_events");
  const auto graph = make("graph");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->method(), "graph");
  EXPECT_THAT(gpu_.loader.asked_for, testing::Each("libnvidia-ml.so.1"));
  EXPECT_EQ(note(**events), "CUDA events, launch gaps included: as asked for");
}

TEST_F(GpuTimerTest, NamesTheMethodsThereAre) {
  EXPECT_THAT(gpu_methods(), testing::ElementsAre("rotating", "cold", "hot", "graph"));
  for (const std::string& method : gpu_methods()) EXPECT_EQ(make(method).value()->method(), method);
  const Status status = make("warm").status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_EQ(status.message(), "no method 'warm' times a GPU");
}

TEST_F(GpuTimerTest, ColdEmptiesTheCacheBeforeEachCallAndDoesNotTimeThat) {
  std::int64_t evictions = 0;
  gpu_.device.on_launch = [&](const KernelLaunch& launch) {
    ++evictions;
    return gpu_.cuda.launch(launch.stream, 90'000);
  };
  const auto timer = make("cold");
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  std::int64_t calls = 0;
  const TimedWork work = [&](std::int64_t, Stream stream) {
    ++calls;
    return gpu_.cuda.launch(stream, 20'000);
  };
  const Timing timing = (*timer)->time(work, {}).value();
  EXPECT_THAT(timing.samples_ns, testing::Each(testing::DoubleNear(20'000, 1.5)));
  EXPECT_EQ(evictions, calls);
  EXPECT_FALSE(turns_through_sets("cold"));
}

TEST_F(GpuTimerTest, OnlyCuptisMethodsNeedCupti) {
  gpu_.loader.libraries.erase(FakeCupti::file_name());
  for (const std::string& method : gpu_methods()) {
    EXPECT_EQ(make(method).ok(), !needs_cupti(method)) << method;
  }
}

TEST_F(GpuTimerTest, TheCpuDeviceIsNotForIt) {
  gpu_.device.device_info.kind = DeviceKind::cpu;
  const Status status = make("rotating").status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(status.message(), "the cpu device has no timer of method 'rotating'");
}

}  // namespace
}  // namespace mgtune
