#include "ceilings/watched_timer.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/helpers/fake_timer.h"

namespace mgtune {
namespace {

class FakeWatch final : public ClockWatch {
 public:
  explicit FakeWatch(std::vector<ClockSample> samples) : samples_(std::move(samples)) {}
  ClockSample read() override { return samples_[next_++ % samples_.size()]; }

 private:
  std::vector<ClockSample> samples_;
  std::size_t next_ = 0;
};

const TimedWork kNothing = [](std::int64_t, Stream) { return Status(); };

TEST(WatchedTimer, ReadsTheClocksAfterEachTiming) {
  FakeTimer timer({900, 700, 800});
  FakeWatch watch({{1900, 3201, 400, 50, 0}, {1500, 3201, 700, 60, 4}, {1800, 3201, 600, 55, 1}});
  WatchedTimer watched(timer, &watch);
  EXPECT_EQ(watched.method(), "fake");
  for (const double expected : {900, 700, 800}) {
    const Result<Timing> timing = watched.time(kNothing, {});
    ASSERT_TRUE(timing.ok());
    EXPECT_EQ(timing->samples_ns.front(), expected);
  }
  const ClockSample clocks = watched.clocks();
  EXPECT_EQ(clocks.sm_mhz, 1800);
  EXPECT_EQ(clocks.memory_mhz, 3201);
  EXPECT_EQ(clocks.power_w, 600);
  EXPECT_EQ(clocks.temperature_c, 55);
  EXPECT_EQ(clocks.reasons, 5U);
  EXPECT_EQ(watched.throttled(), 1);
}

TEST(WatchedTimer, WithoutAWatchThereAreNoClocks) {
  FakeTimer timer({900});
  WatchedTimer watched(timer, nullptr);
  ASSERT_TRUE(watched.time(kNothing, {}).ok());
  EXPECT_EQ(watched.clocks().sm_mhz, 0);
}

TEST(WatchedTimer, AFailureIsPassedOn) {
  FakeTimer timer({900});
  timer.failure = Status(StatusCode::device_lost, "gone");
  FakeWatch watch({{1900, 3201, 400, 50, 0}});
  WatchedTimer watched(timer, &watch);
  EXPECT_EQ(watched.time(kNothing, {}).status().code(), StatusCode::device_lost);
  EXPECT_EQ(watched.clocks().sm_mhz, 0);
}

}  // namespace
}  // namespace mgtune
