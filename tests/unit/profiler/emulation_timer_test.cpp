#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "timing/timer.h"

namespace mgtune {
namespace {

// A clock that only the timed work moves: launch i takes durations[i % size].
class EmulationTimerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Timer> timer() {
    return make_emulation_timer([this] { return now_ns_; });
  }

  TimedWork work(std::vector<std::int64_t> durations_ns) {
    return [this, durations_ns](std::int64_t turn, Stream stream) -> Status {
      EXPECT_EQ(stream, nullptr);
      turns_.push_back(turn);
      now_ns_ += durations_ns[static_cast<std::size_t>(turn) % durations_ns.size()];
      return {};
    };
  }

  std::int64_t now_ns_ = 0;
  std::vector<std::int64_t> turns_;
};

TEST_F(EmulationTimerTest, NamesItsMethod) { EXPECT_EQ(timer()->method(), "emulation"); }

TEST_F(EmulationTimerTest, SteadyWorkStopsAtTheMinimum) {
  const Result<Timing> timing = timer()->time(work({1000}), {});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->samples_ns, std::vector<double>(6, 1000));
  EXPECT_FALSE(timing->censored);
  EXPECT_EQ(turns_, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));  // the first is not timed
}

TEST_F(EmulationTimerTest, NoisyWorkRunsUntilTheIntervalIsNarrow) {
  TimingBudget budget;
  budget.max_samples = 10000;
  budget.relative_half_width = 0.01;
  // A triangle between 900 and 1100: the median is 1000, its interval narrows slowly.
  std::vector<std::int64_t> durations;
  for (std::int64_t i = 0; i < 41; ++i) durations.push_back(900 + (i * 17 % 41) * 5);
  const Result<Timing> timing = timer()->time(work(durations), budget);
  ASSERT_TRUE(timing.ok());
  EXPECT_GT(timing->samples_ns.size(), 40U);
  EXPECT_LT(timing->samples_ns.size(), 10000U);
}

TEST_F(EmulationTimerTest, StopsAtTheLargestNumberOfSamples) {
  TimingBudget budget;
  budget.max_samples = 20;
  const Result<Timing> timing = timer()->time(work({1000, 2000}), budget);
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->samples_ns.size(), 20U);
}

TEST_F(EmulationTimerTest, StopsWhenTheTimeIsSpentButNotBeforeTheMinimum) {
  TimingBudget budget;
  budget.max_seconds = 0.010;
  const Result<Timing> many = timer()->time(work({1'000'000, 500'000}), budget);
  ASSERT_TRUE(many.ok());
  EXPECT_EQ(many->samples_ns.size(), 14U);  // 14 * 0.75 ms is past 10 ms, 13 samples are 9.5 ms
  const Result<Timing> slow = timer()->time(work({50'000'000, 70'000'000}), budget);
  ASSERT_TRUE(slow.ok());
  EXPECT_EQ(slow->samples_ns.size(), 6U);
}

TEST_F(EmulationTimerTest, RacingStopsWhatIsClearlySlower) {
  TimingBudget budget;
  budget.stop_above_ns = 900;
  const Result<Timing> slower = timer()->time(work({1000, 1100}), budget);
  ASSERT_TRUE(slower.ok());
  EXPECT_TRUE(slower->censored);
  EXPECT_EQ(slower->samples_ns.size(), 6U);
}

TEST_F(EmulationTimerTest, RacingLetsAnOverlappingIntervalRun) {
  TimingBudget budget;
  budget.stop_above_ns = 1000;
  budget.max_samples = 50;
  const Result<Timing> close = timer()->time(work({990, 1100}), budget);
  ASSERT_TRUE(close.ok());
  EXPECT_FALSE(close->censored);
  EXPECT_EQ(close->samples_ns.size(), 50U);
}

TEST_F(EmulationTimerTest, AFailingLaunchEndsIt) {
  const TimedWork fails_late = [](std::int64_t turn, Stream) -> Status {
    return turn < 3 ? Status() : Status(StatusCode::launch_failed, "block 0: deadlock");
  };
  const Result<Timing> timing = timer()->time(fails_late, {});
  ASSERT_FALSE(timing.ok());
  EXPECT_EQ(timing.status().code(), StatusCode::launch_failed);
  EXPECT_EQ(timing.status().message(), "block 0: deadlock");
}

TEST_F(EmulationTimerTest, TheRealClockSeesWork) {
  const TimedWork spin = [](std::int64_t, Stream) -> Status {
    std::atomic<int> counter = 0;
    while (counter < 10000) ++counter;
    return {};
  };
  const Result<Timing> timing = make_emulation_timer()->time(spin, {});
  ASSERT_TRUE(timing.ok());
  EXPECT_GT(std::ranges::min(timing->samples_ns), 100);
}

TEST_F(EmulationTimerTest, InTurnEveryWorkHasASampleARound) {
  const std::vector<TimedWork> works = {work({1000}), work({2000})};
  const Result<TurnTiming> timing = timer()->time_in_turn(works, {.max_rounds = 20});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->samples_ns[0], std::vector<double>(20, 1000));
  EXPECT_EQ(timing->samples_ns[1], std::vector<double>(20, 2000));
  EXPECT_EQ(turns_.size(), 42U) << "each once before, not timed";
  EXPECT_TRUE(std::ranges::is_sorted(turns_));
}

TEST_F(EmulationTimerTest, InTurnItEndsWhenTheTimeIsSpent) {
  const std::vector<TimedWork> works = {work({100'000'000})};
  EXPECT_EQ(timer()->time_in_turn(works, {})->samples_ns[0].size(), 10U);
  const TurnBudget budget{.min_rounds = 3, .max_seconds = 0.5};
  EXPECT_EQ(timer()->time_in_turn(works, budget)->samples_ns[0].size(), 5U);
}

}  // namespace
}  // namespace mgtune
