#include "timing/batch_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace mgtune {
namespace {

using testing::Each;
using testing::SizeIs;

// Work whose n-th call takes time_ns(n).
class FakeClock final : public BatchClock {
 public:
  explicit FakeClock(std::function<double(std::int64_t)> time_ns) : time_ns_(std::move(time_ns)) {}

  std::int64_t calls_limit = 1000, batches_limit = 1000;
  Status start_status, time_status;
  std::vector<std::pair<std::int64_t, std::int64_t>> rounds;  // calls, batches

  Status start() override { return start_status; }
  Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) override {
    MGTUNE_TRY(Status(time_status));
    rounds.emplace_back(calls, batches);
    std::vector<double> samples;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      double sum_ns = 0;
      for (std::int64_t i = 0; i < calls; ++i) sum_ns += time_ns_(next_++);
      samples.push_back(sum_ns / static_cast<double>(calls));
    }
    return samples;
  }
  std::int64_t max_calls() const override { return calls_limit; }
  std::int64_t max_batches(std::int64_t) const override { return batches_limit; }

 private:
  std::function<double(std::int64_t)> time_ns_;
  std::int64_t next_ = 0;
};

double steady(std::int64_t) { return 10'000; }
double alternating(std::int64_t call) { return call % 2 == 0 ? 60'000 : 80'000; }

Timing timed(FakeClock& clock, const TimingBudget& budget, const BatchSize& size = {}) {
  const Result<Timing> timing = time_in_batches(clock, size, budget);
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
  const BatchSize size{.batch_ns = 1e6, .least_calls = 32, .longest_ns = 20e6};
  EXPECT_EQ(size.calls(500'000, 1024), 32);
  EXPECT_EQ(size.calls(2e6, 1024), 16);  // 10 take 20 ms; rounded up
  EXPECT_EQ(size.calls(30e6, 1024), 1);
}

TEST(BatchTiming, SteadyWorkStopsAtTheMinimum) {
  FakeClock clock(steady);
  const Timing timing = timed(clock, {});
  EXPECT_THAT(timing.samples_ns, SizeIs(5));
  EXPECT_THAT(timing.samples_ns, Each(10'000));
  EXPECT_EQ(timing.note, "");
  EXPECT_FALSE(timing.censored);
  EXPECT_EQ(clock.rounds.front(), (std::pair<std::int64_t, std::int64_t>(1, 1)));
  EXPECT_EQ(clock.rounds.back(), (std::pair<std::int64_t, std::int64_t>(8, 5)));
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
  EXPECT_THAT(timing.samples_ns, SizeIs(5));
  EXPECT_THAT(clock.rounds, SizeIs(3));  // an estimate, a window of 65 ms, five samples
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
  EXPECT_THAT(std::vector(batches.end() - 5, batches.end()),
              testing::ElementsAre(5, 5, 10, 20, 10));
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
  EXPECT_THAT(timing.samples_ns, SizeIs(5));
}

TEST(BatchTiming, AClockThatReadsNothingIsNoEndlessLoop) {
  FakeClock clock([](std::int64_t) { return 0; });
  EXPECT_THAT(timed(clock, {}).samples_ns, SizeIs(5));
}

TEST(BatchTiming, FailuresEndIt) {
  FakeClock clock(steady);
  clock.time_status = Status(StatusCode::launch_failed, "no launch");
  EXPECT_EQ(time_in_batches(clock, {}, {}).status().message(), "no launch");
  clock.start_status = Status(StatusCode::device_lost, "gone");
  EXPECT_EQ(time_in_batches(clock, {}, {}).status().code(), StatusCode::device_lost);
}

TEST(BatchTiming, NotesAreJoined) {
  Timing timing;
  add_note("", timing);
  EXPECT_EQ(timing.note, "");
  add_note("one", timing);
  add_note("", timing);
  add_note("two", timing);
  EXPECT_EQ(timing.note, "one; two");
}

}  // namespace
}  // namespace mgtune
