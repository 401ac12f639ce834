#include "timing/event_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/helpers/fakes/fake_gpu.h"

namespace mgtune {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::SizeIs;

class EventTimerTest : public testing::Test {
 protected:
  std::unique_ptr<Timer> timer() {
    return make_event_timer(gpu_.driver, {"rotating_events", "another tool holds CUPTI"},
                            HeldStream::make(gpu_.driver, gpu_.device).value());
  }

  TimedWork kernel(double ns) {
    return [this, ns](std::int64_t, Stream stream) { return gpu_.cuda.launch(stream, ns); };
  }

  Timing timed(Timer& timer, const TimedWork& work, const TimingBudget& budget = {}) {
    const Result<Timing> timing = timer.time(work, budget);
    EXPECT_TRUE(timing.ok()) << timing.status().message();
    return timing.ok() ? *timing : Timing();
  }

  FakeGpu gpu_;
};

TEST_F(EventTimerTest, ItsRowsAreOfAMethodOfTheirOwn) {
  EXPECT_EQ(timer()->method(), "rotating_events");
}

TEST_F(EventTimerTest, ATimeIsTheBatchDividedByItsCalls) {
  // 16 calls of 20.8 us, gaps included, and one event of 1 us.
  const Timing timing = timed(*timer(), kernel(20'000));
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
  EXPECT_THAT(timing.samples_ns, Each(DoubleNear(20'800 + 1000.0 / 16, 1)));
}

TEST_F(EventTimerTest, SaysWhyItWasTaken) {
  EXPECT_EQ(timed(*timer(), kernel(20'000)).note,
            "CUDA events, launch gaps included: another tool holds CUPTI");
}

TEST_F(EventTimerTest, TheHostsLaunchesDoNotShow) {
  // Launching takes 2.5 us; running and the gap 1.5 us.
  EXPECT_THAT(timed(*timer(), kernel(700)).samples_ns, Each(DoubleNear(1500, 10)));
  gpu_.cuda.can_hold = false;
  const Timing free = timed(*timer(), kernel(700));
  EXPECT_THAT(free.samples_ns, Each(DoubleNear(2500, 30)));
  EXPECT_THAT(free.note,
              testing::EndsWith("; launches not queued ahead: the driver cannot hold a stream"));
}

TEST_F(EventTimerTest, SlowerThanTheBestIsCensored) {
  TimingBudget budget;
  budget.stop_above_ns = 10'000;
  EXPECT_TRUE(timed(*timer(), kernel(20'000), budget).censored);
}

TEST_F(EventTimerTest, AFailingLaunchEndsIt) {
  const TimedWork fails = [this](std::int64_t turn, Stream stream) -> Status {
    if (turn == 9) return {StatusCode::launch_failed, "too many blocks"};
    return gpu_.cuda.launch(stream, 20'000);
  };
  EXPECT_EQ(timer()->time(fails, {}).status().message(), "too many blocks");
}

TEST_F(EventTimerTest, LeavesNothingBehind) {
  timed(*timer(), kernel(20'000));
  EXPECT_EQ(gpu_.cuda.events_alive, 0);
  EXPECT_EQ(gpu_.cuda.streams_alive, 0);
  EXPECT_EQ(gpu_.cuda.host_blocks_alive, 0);
}

}  // namespace
}  // namespace mgtune
