#include "cupti/cupti_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/helpers/fakes/fake_batch_clock.h"
#include "tests/helpers/fakes/fake_gpu.h"

namespace mgtune {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::SizeIs;

class CuptiTimerTest : public testing::Test {
 protected:
  std::unique_ptr<Timer> timer(std::chrono::milliseconds patience = std::chrono::seconds(2),
                               std::unique_ptr<ClockWatch> watch = nullptr) {
    return make_cupti_timer(
        "rotating", ActivityRecorder::make(open_cupti(gpu_.loader).value()).value(),
        HeldStream::make(gpu_.driver, gpu_.device, patience).value(), std::move(watch));
  }

  // Each call runs these kernels, one after the other.
  TimedWork kernels(std::vector<double> durations_ns) {
    return [this, durations_ns](std::int64_t turn, Stream stream) -> Status {
      turns_.push_back(turn);
      for (const double ns : durations_ns) MGTUNE_TRY(gpu_.cuda.launch(stream, ns));
      return {};
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

TEST_F(CuptiTimerTest, NamesItsMethod) { EXPECT_EQ(timer()->method(), "rotating"); }

TEST_F(CuptiTimerTest, GapsBetweenCallsAreNotInTheTime) {
  const Timing timing = timed(*timer(), kernels({20'000}));
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
  EXPECT_THAT(timing.samples_ns, Each(DoubleNear(20'000, 1.5)));  // the clock's ticks are 1 ns
  EXPECT_EQ(timing.note, "");
  EXPECT_FALSE(timing.censored);
}

TEST_F(CuptiTimerTest, ACallIsTheSpanOfAllItsOperations) {
  const TimedWork work = [this](std::int64_t, Stream stream) -> Status {
    MGTUNE_TRY(gpu_.cuda.launch(stream, 1000, true));  // a memset of the workspace
    MGTUNE_TRY(gpu_.cuda.launch(stream, 5000));
    return gpu_.cuda.launch(stream, 10'000);
  };
  const Timing timing = timed(*timer(), work);
  EXPECT_THAT(timing.samples_ns, Each(DoubleNear(1000 + 800 + 5000 + 800 + 10'000, 1.5)));
}

TEST_F(CuptiTimerTest, WaitingForTheCallBeforeIsNotInTheTime) {
  gpu_.cuda.early_ns = 3000;  // 2.2 us before the call before it ends
  const Timing timing = timed(*timer(), kernels({20'000, 5000}));
  EXPECT_THAT(timing.samples_ns, Each(DoubleNear(800 + 20'000 + 800 + 5000, 1.5)));
}

TEST_F(CuptiTimerTest, TheHostsLaunchesDoNotShowBetweenShortKernels) {
  // Launching takes 2.5 us, running 1 us.
  const Timing held = timed(*timer(), kernels({1000, 1000}));
  EXPECT_THAT(held.samples_ns, Each(DoubleNear(1000 + 800 + 1000, 1.5)));
  EXPECT_EQ(held.note, "");
}

TEST_F(CuptiTimerTest, SaysWhenTheStreamCannotBeHeld) {
  gpu_.cuda.can_hold = false;
  const Timing timing = timed(*timer(), kernels({1000, 1000}));
  EXPECT_THAT(timing.samples_ns, Each(DoubleNear(2500 + 1000, 1.5)));
  EXPECT_EQ(timing.note, "launches not queued ahead: the driver cannot hold a stream");
}

TEST_F(CuptiTimerTest, AStreamHeldForEverIsLetGo) {
  gpu_.cuda.launches_wait_for_gpu = true;
  const Timing timing = timed(*timer(std::chrono::milliseconds(20)), kernels({30'000}));
  EXPECT_THAT(timing.samples_ns, Each(DoubleNear(30'000, 1.5)));
  EXPECT_EQ(timing.note, "launches not queued ahead: the driver waited for the GPU while queueing");
}

TEST_F(CuptiTimerTest, InTurnTheWorksShareTheBufferSets) {
  const std::vector<TimedWork> works = {kernels({20'000}), kernels({40'000, 1000})};
  const Result<TurnTiming> timing = timer()->time_in_turn(works, {});
  ASSERT_TRUE(timing.ok()) << timing.status().message();
  EXPECT_THAT(timing->samples_ns[0], testing::AllOf(SizeIs(60), Each(DoubleNear(20'000, 1.5))));
  EXPECT_THAT(timing->samples_ns[1], Each(DoubleNear(40'000 + 800 + 1000, 1.5)));
  std::vector<std::int64_t> expected(turns_.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(turns_, expected);
}

TEST_F(CuptiTimerTest, BufferSetsTurnFromCallToCall) {
  timed(*timer(), kernels({2000}));
  std::vector<std::int64_t> expected(turns_.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(turns_, expected);
}

TEST_F(CuptiTimerTest, QueuesNoMoreThanTheDriverTakes) {
  std::int64_t queued = 0;
  std::int64_t most = 0;
  std::size_t ran = 0;
  const TimedWork work = [&](std::int64_t, Stream stream) -> Status {
    queued = gpu_.cuda.ran.size() == ran ? queued + 3 : 3;
    ran = gpu_.cuda.ran.size();
    most = std::max(most, queued);
    for (int i = 0; i < 3; ++i) MGTUNE_TRY(gpu_.cuda.launch(stream, 700));
    return {};
  };
  timed(*timer(), work);
  EXPECT_GE(most, 90);
  EXPECT_LE(most, 204);
}

TEST_F(CuptiTimerTest, SlowerThanTheBestIsCensored) {
  TimingBudget budget;
  budget.stop_above_ns = 19'000;
  const Timing timing = timed(*timer(), kernels({20'000}), budget);
  EXPECT_TRUE(timing.censored);
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
}

TEST_F(CuptiTimerTest, WorkThatIsFarTooSlowCostsAHandfulOfLaunches) {
  const auto one = timer(std::chrono::seconds(2), std::make_unique<FakeWatch>(std::vector{kFull}));
  timed(*one, kernels({20'000}));
  const std::size_t ran = gpu_.cuda.ran.size();
  TimingBudget budget;
  budget.stop_above_ns = 20'000;
  const Timing timing = timed(*one, kernels({25'000}), budget);
  EXPECT_TRUE(timing.censored);
  EXPECT_THAT(timing.samples_ns, testing::AllOf(SizeIs(6), Each(DoubleNear(25'000, 1.5))));
  EXPECT_EQ(gpu_.cuda.ran.size() - ran, 8U)
      << "one to start, one that follows an idle GPU, and six";
}

TEST_F(CuptiTimerTest, OneTimerTimesManyPiecesOfWork) {
  const auto one = timer();
  EXPECT_THAT(timed(*one, kernels({20'000})).samples_ns, Each(DoubleNear(20'000, 1.5)));
  EXPECT_THAT(timed(*one, kernels({300'000})).samples_ns, Each(DoubleNear(300'000, 1.5)));
  EXPECT_THAT(timed(*one, kernels({3000, 4000})).samples_ns, Each(DoubleNear(7800, 1.5)));
}

TEST_F(CuptiTimerTest, LostRecordsAreMeasuredAgain) {
  const auto one = timer();
  int launches = 0;
  const TimedWork work = [&](std::int64_t, Stream stream) {
    if (++launches == 40) gpu_.cupti.drop_next = 3;
    if (launches == 130) gpu_.cupti.no_time_next = 1;
    return gpu_.cuda.launch(stream, 20'000);
  };
  EXPECT_THAT(timed(*one, work).samples_ns, Each(DoubleNear(20'000, 1.5)));
  EXPECT_GT(launches, 130);
}

TEST_F(CuptiTimerTest, RecordsLostAgainAreAnError) {
  const auto one = timer();
  const TimedWork work = [&](std::int64_t turn, Stream stream) {
    if (turn > 0) gpu_.cupti.drop_next = 1;
    return gpu_.cuda.launch(stream, 20'000);
  };
  const Status status = one->time(work, {}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(),
            "CUPTI gave times for 1 of 2 operations (1 records dropped, 0 without a time)");
}

TEST_F(CuptiTimerTest, WorkThatLaunchesNothingIsUnsupported) {
  const TimedWork nothing = [](std::int64_t, Stream) { return Status(); };
  const Status status = timer()->time(nothing, {}).status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(status.message(), "the work to time launches nothing");
}

TEST_F(CuptiTimerTest, AFailingLaunchLetsTheStreamGo) {
  const auto one = timer();
  const TimedWork fails_late = [this](std::int64_t turn, Stream stream) -> Status {
    if (turn == 30) return {StatusCode::launch_failed, "too many blocks"};
    return gpu_.cuda.launch(stream, 20'000);
  };
  const Status status = one->time(fails_late, {}).status();
  EXPECT_EQ(status.code(), StatusCode::launch_failed);
  EXPECT_EQ(status.message(), "too many blocks");
  EXPECT_THAT(timed(*one, kernels({20'000})).samples_ns, Each(DoubleNear(20'000, 1.5)));
}

TEST_F(CuptiTimerTest, LeavesNothingBehind) {
  timed(*timer(), kernels({20'000}));
  EXPECT_EQ(gpu_.cuda.streams_alive, 0);
  EXPECT_EQ(gpu_.cuda.host_blocks_alive, 0);
  EXPECT_FALSE(gpu_.cupti.subscribed);
  EXPECT_EQ(gpu_.cupti.buffers_out, 0U);
}

}  // namespace
}  // namespace mgtune
