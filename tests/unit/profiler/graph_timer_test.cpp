#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/helpers/fakes/fake_gpu.h"
#include "timing/event_timer.h"

namespace mgtune {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::SizeIs;

class GraphTimerTest : public testing::Test {
 protected:
  std::unique_ptr<Timer> timer() {
    return make_event_timer(gpu_.driver, {"graph", ""},
                            HeldStream::make(gpu_.driver, gpu_.device).value());
  }

  TimedWork kernel(double ns) {
    return [this, ns](std::int64_t turn, Stream stream) {
      turns_.push_back(turn);
      return gpu_.cuda.launch(stream, ns);
    };
  }

  Timing timed(Timer& timer, const TimedWork& work, const TimingBudget& budget = {}) {
    const Result<Timing> timing = timer.time(work, budget);
    EXPECT_TRUE(timing.ok()) << timing.status().message();
    return timing.ok() ? *timing : Timing();
  }

  FakeGpu gpu_;
  std::vector<std::int64_t> turns_;
};

TEST_F(GraphTimerTest, NamesItsMethod) { EXPECT_EQ(timer()->method(), "graph"); }

TEST_F(GraphTimerTest, ATimeIsTheReplayDividedByItsCalls) {
  gpu_.cuda.gap_ns = 0;
  const Timing timing = timed(*timer(), kernel(10'000));
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
  EXPECT_THAT(timing.samples_ns, Each(DoubleNear(10'000 + 1000.0 / 128, 1)));  // the event
  EXPECT_EQ(timing.note, "");
}

TEST_F(GraphTimerTest, AGraphTakesAboutAMillisecondAndTurnsThroughTheSets) {
  timed(*timer(), kernel(700));
  // One call free, one for a first estimate, graphs of 512 and then 1024 calls.
  EXPECT_EQ(turns_.size(), 1U + 1U + 512U + 1024U);
  EXPECT_TRUE(std::ranges::is_sorted(turns_));
}

TEST_F(GraphTimerTest, LongWorkStillTurnsThroughItsSets) {
  timed(*timer(), kernel(500'000), {.buffer_sets = 2});
  EXPECT_EQ(turns_.size(), 1U + 1U + 32U);
  turns_.clear();
  timed(*timer(), kernel(500'000));  // one set: graphs of as many calls as take a millisecond
  EXPECT_EQ(turns_.size(), 1U + 1U + 2U);
}

TEST_F(GraphTimerTest, AGraphTurnsThroughAllBufferSets) {
  TimingBudget budget;
  budget.buffer_sets = 150;
  const auto one = timer();
  const Result<Timing> all = one->time(kernel(40'000), budget);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->note.find("buffer sets"), std::string::npos) << all->note;
  const Result<Timing> some = one->time(kernel(2'000'000), budget);
  ASSERT_TRUE(some.ok()) << some.status().message();
  EXPECT_NE(some->note.find(" of 150 buffer sets"), std::string::npos) << some->note;
}

TEST_F(GraphTimerTest, LeavesNothingBehind) {
  timed(*timer(), kernel(10'000));
  EXPECT_EQ(gpu_.cuda.graphs_alive, 0);
  EXPECT_EQ(gpu_.cuda.events_alive, 0);
  EXPECT_EQ(gpu_.cuda.streams_alive, 0);
}

TEST_F(GraphTimerTest, WorkThatFailsInACaptureEndsTheCapture) {
  const auto one = timer();
  const TimedWork fails = [this](std::int64_t turn, Stream stream) -> Status {
    if (turn == 20) return {StatusCode::launch_failed, "not in a graph"};
    return gpu_.cuda.launch(stream, 10'000);
  };
  EXPECT_EQ(one->time(fails, {}).status().message(), "not in a graph");
  EXPECT_EQ(gpu_.cuda.graphs_alive, 0);
  EXPECT_THAT(timed(*one, kernel(10'000)).samples_ns, SizeIs(6));
}

TEST_F(GraphTimerTest, ACaptureThatTheDriverRefusesIsAnError) {
  gpu_.cuda.capture_end_result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const Status status = timer()->time(kernel(10'000), {}).status();
  EXPECT_EQ(status.code(), StatusCode::launch_failed);
  EXPECT_EQ(status.message(), "capturing a graph: CUDA_ERROR_OTHER: the text");
}

}  // namespace
}  // namespace mgtune
