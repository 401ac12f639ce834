#include "timing/batch_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/helpers/fakes/fake_batch_clock.h"

namespace mgtune {
namespace {

using testing::Each;
using testing::SizeIs;

Status nothing(std::int64_t, Stream) { return {}; }
double steady(std::int64_t) { return 10'000; }
double alternating(std::int64_t call) { return call % 2 == 0 ? 60'000 : 80'000; }

Timing timed(FakeClock& clock, const TimingBudget& budget, const BatchSize& size = {}) {
  const Result<Timing> timing = TimerOfClocks({&clock}, size).time({}, budget);
  EXPECT_TRUE(timing.ok()) << timing.status().message();
  return timing.ok() ? *timing : Timing();
}

TEST(BatchSize, FillsTheBatchWithAPowerOfTwo) {
  const BatchSize size;
  EXPECT_EQ(size.calls(600, 200), 128);  // 84 calls take 50 us
  EXPECT_EQ(size.calls(600, 100), 64);   // the largest power of two that is allowed
  EXPECT_EQ(size.calls(20'000, 200), 4);
  EXPECT_EQ(size.calls(50'000, 200), 1);
  EXPECT_EQ(size.calls(9e9, 200), 1);
  EXPECT_EQ(size.calls(1, 0), 1);
}

TEST(BatchSize, LongWorkHasItsLeastCallsWhileTheyAreShortEnough) {
  const BatchSize size{.batch_ns = 1e6, .min_calls = 32, .longest_ns = 20e6};
  EXPECT_EQ(size.calls(500'000, 1024), 32);
  EXPECT_EQ(size.calls(2e6, 1024), 16);  // 10 take 20 ms; rounded up
  EXPECT_EQ(size.calls(30e6, 1024), 1);
}

// A graph of 16 launches of 1 ms per sample made the ceilings of arithmetic take a minute.
TEST(BatchTiming, LongWorkWithOneBufferSetHasOneCallPerBatch) {
  const BatchSize size{.batch_ns = 1e6, .min_calls = 32, .longest_ns = 20e6};
  TimingBudget budget;
  const auto calls_with = [&](std::int64_t buffer_sets) {
    FakeClock clock([](std::int64_t) { return 1e6; });
    budget.buffer_sets = buffer_sets;
    timed(clock, budget, size);
    return clock.rounds.back().first;
  };
  EXPECT_EQ(calls_with(1), 1);
  EXPECT_EQ(calls_with(2), 32);
}

TEST(BatchTiming, SteadyWorkStopsAtTheMinimum) {
  FakeClock clock(steady);
  const Timing timing = timed(clock, {});
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
  EXPECT_THAT(timing.samples_ns, Each(10'000));
  EXPECT_EQ(timing.note, "");
  EXPECT_FALSE(timing.censored);
  EXPECT_EQ(clock.rounds.front(), (std::pair<std::int64_t, std::int64_t>(1, 1)));
  EXPECT_EQ(clock.rounds.back(), (std::pair<std::int64_t, std::int64_t>(8, 6)));
}

TEST(BatchTiming, WarmsUpUntilTheTimesSettle) {
  // Twice as slow at first, as on a GPU whose clock has to rise.
  FakeClock clock([](std::int64_t call) {
    return call < 1000 ? 20'000 - 10.0 * static_cast<double>(call) : 10'000;
  });
  const Timing timing = timed(clock, {});
  EXPECT_THAT(timing.samples_ns, Each(10'000));
  EXPECT_EQ(timing.note, "");
}

TEST(BatchTiming, SaysWhenTheTimesDoNotSettle) {
  FakeClock clock([](std::int64_t call) { return 10'000 + 20.0 * static_cast<double>(call); });
  clock.batches_limit = 100;
  EXPECT_THAT(timed(clock, {.max_seconds = 10}).note,
              testing::MatchesRegex("times still changed by [0-9]+\\.[0-9] % after warm-up"));
}

TEST(BatchTiming, SlowWorkWarmsUpForAQuarterOfTheBudget) {
  FakeClock clock(
      [](std::int64_t call) { return 60e6 + 5e6 * static_cast<double>(call); });  // never settles
  const Timing timing = timed(clock, {});
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
  EXPECT_THAT(clock.rounds, SizeIs(3));  // an estimate, a window of 65 ms, six samples
  EXPECT_THAT(timing.note, testing::StartsWith("times still changed by "));
}

TEST(BatchTiming, RoundsGrowAndKeepToTheBudget) {
  FakeClock clock(alternating);
  TimingBudget budget;
  budget.max_samples = 50;
  const Timing timing = timed(clock, budget);
  EXPECT_THAT(timing.samples_ns, SizeIs(50));
  std::vector<std::int64_t> batches;
  for (const auto& [calls, count] : clock.rounds) batches.push_back(count);
  ASSERT_GE(batches.size(), 5U);
  EXPECT_THAT(std::vector(batches.end() - 5, batches.end()), testing::ElementsAre(6, 6, 12, 24, 2));
}

TEST(BatchTiming, StopsWhenTheTimeIsSpent) {
  FakeClock clock(alternating);
  const Timing timing = timed(clock, {.max_seconds = 0.0021});
  EXPECT_THAT(timing.samples_ns, SizeIs(30));  // 70 us each
}

TEST(BatchTiming, OneRoundMayBeSmallerThanTheMinimum) {
  FakeClock clock(steady);
  clock.batches_limit = 2;
  EXPECT_THAT(timed(clock, {}).samples_ns, SizeIs(6));
}

TEST(BatchTiming, RacingStopsWhatIsClearlySlower) {
  FakeClock clock(alternating);
  TimingBudget budget;
  budget.stop_above_ns = 50'000;
  const Timing timing = timed(clock, budget);
  EXPECT_TRUE(timing.censored);
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
}

TEST(BatchTiming, AClockThatReadsNothingIsNoEndlessLoop) {
  FakeClock clock([](std::int64_t) { return 0; });
  EXPECT_THAT(timed(clock, {}).samples_ns, SizeIs(6));
}

TEST(BatchTiming, FailuresEndIt) {
  FakeClock clock(steady);
  clock.time_status = Status(StatusCode::launch_failed, "no launch");
  EXPECT_EQ(TimerOfClocks({&clock}).time({}, {}).status().message(), "no launch");
  clock.start_status = Status(StatusCode::device_lost, "gone");
  EXPECT_EQ(TimerOfClocks({&clock}).time({}, {}).status().code(), StatusCode::device_lost);
}

TEST(BatchTiming, NotesAreJoined) {
  FakeClock clock(steady);
  TimerOfClocks timer({&clock});
  TimingBudget budget;
  budget.buffer_sets = 4;
  EXPECT_EQ(timer.time({}, budget)->note, "too many sets");
  timer.method_note = "and more";
  EXPECT_EQ(timer.time({}, budget)->note, "too many sets; and more");
}

TEST(BatchTiming, SamplesOfAThrottledGpuAreTakenAgain) {
  FakeClock clock(steady);
  TimerOfClocks timer({&clock}, {},
                      std::make_unique<FakeWatch>(std::vector{kCapped, kCapped, kFull}));
  const Timing timing = timer.time({}, {}).value();
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
  EXPECT_EQ(timing.clocks.throttled_samples, 12);
  EXPECT_EQ(timing.clocks.throttle_reasons, "sw_power_cap");
  EXPECT_EQ(timing.clocks.sm_mhz, 1980) << "of the samples that were kept";
  EXPECT_EQ(timing.clocks.temperature_c, 40);
  EXPECT_EQ(timing.note, "");
}

TEST(BatchTiming, AGpuThatThrottlesForEverGivesFlaggedSamplesNotNone) {
  FakeClock clock(steady);
  TimerOfClocks timer({&clock}, {}, std::make_unique<FakeWatch>(std::vector{kCapped}));
  const Timing timing = timer.time({}, {.max_seconds = 0.02}).value();
  EXPECT_THAT(timing.samples_ns, SizeIs(6));
  EXPECT_EQ(timing.clocks.throttled_samples, 258) << "42 times 6 samples of 80 us take 20 ms";
  EXPECT_EQ(timing.note, "6 samples are of a GPU that held its clocks down: sw_power_cap");
}

// 10 us at 1,500 MHz are 7.58 us at 1,980.
TEST(BatchTiming, ALowerClockRaisesTheLimitOfARaceIfTheTimeFollowsIt) {
  const auto censored = [](TimingBudget budget) {
    FakeClock clock(steady);
    budget.max_seconds = 0.001;
    return TimerOfClocks({&clock}, {}, std::make_unique<FakeWatch>(std::vector{kCapped}))
        .time({}, budget)
        ->censored;
  };
  EXPECT_TRUE(censored({.stop_above_ns = 7'700}));
  EXPECT_FALSE(censored({.stop_above_ns = 7'700, .stop_above_mhz = 1980}));
  EXPECT_TRUE(censored({.stop_above_ns = 7'500, .stop_above_mhz = 1980}));
  EXPECT_TRUE(censored({.stop_above_ns = 7'700, .stop_above_mhz = 1400}));
}

TEST(BatchTiming, WithoutAWatchNothingIsKnownOfTheClocks) {
  FakeClock clock(steady);
  const Timing timing = timed(clock, {});
  EXPECT_EQ(timing.clocks.sm_mhz, 0);
  EXPECT_EQ(timing.clocks.throttled_samples, 0);
}

TEST(TimingInTurn, EachRoundHasOneSampleOfEveryWork) {
  FakeClock fast([](std::int64_t) { return 5'000; });
  FakeClock slow([](std::int64_t) { return 300'000; });
  const std::vector<TimedWork> works(2, nothing);
  TurnBudget budget;
  budget.max_rounds = 20;
  const TurnTiming timing = TimerOfClocks({&fast, &slow}).time_in_turn(works, budget).value();
  ASSERT_THAT(timing.samples_ns, SizeIs(2));
  EXPECT_THAT(timing.samples_ns[0], testing::AllOf(SizeIs(20), Each(5'000)));
  EXPECT_THAT(timing.samples_ns[1], testing::AllOf(SizeIs(20), Each(300'000)));
  EXPECT_EQ(fast.rounds.back(), (std::pair<std::int64_t, std::int64_t>(64, 1))) << "200 us";
}

TEST(TimingInTurn, TheOrderIsAnotherInEveryRoundAndTheSameForASeed) {
  const auto order_of = [](std::uint64_t seed) {
    std::vector<int> order;
    std::vector<FakeClock> clocks(3, FakeClock([](std::int64_t) { return 300'000; }));
    std::vector<TimedWork> works;
    for (int i = 0; i < 3; ++i) {
      works.emplace_back([&order, i](std::int64_t, Stream) -> Status {
        order.push_back(i);
        return {};
      });
    }
    TurnBudget budget;
    budget.seed = seed;
    budget.max_rounds = 15;
    TimerOfClocks timer({&clocks[0], &clocks[1], &clocks[2]});
    EXPECT_TRUE(timer.time_in_turn(works, budget).ok());
    return std::vector(order.end() - 45, order.end());
  };
  const std::vector<int> order = order_of(1);
  EXPECT_EQ(order, order_of(1));
  EXPECT_NE(order, order_of(2));
  int same_as_before = 0;
  for (std::size_t round = 1; round < 15; ++round) {
    std::vector<int> of_round(order.begin() + 3 * round, order.begin() + 3 * round + 3);
    same_as_before += std::equal(of_round.begin(), of_round.end(), order.begin()) ? 1 : 0;
    std::ranges::sort(of_round);
    EXPECT_THAT(of_round, testing::ElementsAre(0, 1, 2));
  }
  EXPECT_LT(same_as_before, 8) << "one in six by chance";
}

TEST(TimingInTurn, EndsAfterItsTimeButNotBeforeTheLeastRounds) {
  FakeClock clock([](std::int64_t) { return 50e6; });
  const std::vector<TimedWork> works(2, nothing);
  TimerOfClocks timer({&clock});
  EXPECT_THAT(timer.time_in_turn(works, {})->samples_ns[0], SizeIs(10));
  EXPECT_THAT(timer.time_in_turn(works, {.max_seconds = 3})->samples_ns[1], SizeIs(30));
}

TEST(TimingInTurn, AThrottledRoundIsTakenAgainWhole) {
  FakeClock clock(steady);
  TimerOfClocks timer({&clock}, {},
                      std::make_unique<FakeWatch>(std::vector{kFull, kCapped, kFull}));
  const std::vector<TimedWork> works(3, nothing);
  const TurnTiming timing = timer.time_in_turn(works, {}).value();
  EXPECT_THAT(timing.samples_ns, Each(SizeIs(60)));
  EXPECT_EQ(timing.clocks.throttled_samples, 3);
}

// Works of a GPU that lowers its clocks once one of them has run for 20 ms. The first work then
// needs 10 % more time, the second 2 %, although the second is slower in bursts.
class TimingAtThePowerLimit : public testing::Test {
 protected:
  TurnTiming timing(const TurnBudget& budget) {
    const std::vector<TimedWork> works(2, nothing);
    return TimerOfClocks({&first_, &second_}).time_in_turn(works, budget).value();
  }
  double call(int work, double burst_ns, double sustained_ns) {
    if (std::exchange(running_, work) != work) ran_ns_ = 0;
    const double ns = is_capped_ && ran_ns_ > 20e6 ? sustained_ns : burst_ns;
    ran_ns_ += ns;
    return ns;
  }

  bool is_capped_ = true;
  double slower_first_ns_ = 110e3;
  FakeClock first_{[this](std::int64_t) { return call(1, 100e3, slower_first_ns_); }};
  FakeClock second_{[this](std::int64_t) { return call(2, 103e3, 105e3); }};

 private:
  int running_ = 0;
  double ran_ns_ = 0;
};

TEST_F(TimingAtThePowerLimit, EachWorkRunsAloneBeforeItsSample) {
  const TurnTiming found = timing(TurnBudget::of_final(0.1));
  EXPECT_THAT(found.samples_ns[0], testing::AllOf(SizeIs(testing::Ge(10)), Each(110e3)));
  EXPECT_THAT(found.samples_ns[1], Each(105e3));
  EXPECT_EQ(found.note, "sustained: each variant ran for 0.1 s before each sample");
}

TEST_F(TimingAtThePowerLimit, BurstsDoNotShowIt) {
  const TurnTiming found = timing({});
  EXPECT_THAT(found.samples_ns[0], Each(100e3));
  EXPECT_THAT(found.samples_ns[1], Each(103e3));
  EXPECT_EQ(found.note, "");
}

TEST_F(TimingAtThePowerLimit, OneWorkThatChangesIsEnough) {
  slower_first_ns_ = 100e3;
  const TurnTiming found = timing({.settle_seconds = 0.1});
  EXPECT_THAT(found.samples_ns[0], Each(100e3));
  EXPECT_THAT(found.samples_ns[1], Each(105e3));
}

TEST_F(TimingAtThePowerLimit, WorkThatKeepsItsSpeedIsTimedInBursts) {
  is_capped_ = false;
  const TurnTiming found = timing({.settle_seconds = 0.1});
  EXPECT_THAT(found.samples_ns[0], testing::AllOf(SizeIs(60), Each(100e3)));
  EXPECT_EQ(found.note, "");
}

TEST(TimingInTurn, FailuresEndIt) {
  FakeClock clock(steady);
  clock.time_status = Status(StatusCode::device_lost, "gone");
  const std::vector<TimedWork> works(2, nothing);
  EXPECT_EQ(TimerOfClocks({&clock}).time_in_turn(works, {}).status().code(),
            StatusCode::device_lost);
}

}  // namespace
}  // namespace mgtune
