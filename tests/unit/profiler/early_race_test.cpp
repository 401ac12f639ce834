// How often work loses its race early, and with how few launches.

#include "timing/early_race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/helpers/fakes/fake_batch_clock.h"

namespace mgtune {
namespace {

using testing::Each;
using testing::SizeIs;

constexpr double kLimitNs = 50'000;
constexpr BatchSize kSingleCalls{.times_single_calls = true};

class EarlyRaceTest : public testing::Test {
 protected:
  // Of work whose n-th call takes so long, on a GPU with these clocks. The timer has measured other
  // work before.
  Timing raced(std::function<double(std::int64_t)> time_ns,
               std::vector<ClockSample> readings = {kFull}, const BatchSize& size = kSingleCalls) {
    FakeClock before([](std::int64_t) { return kLimitNs; });
    clock_ = FakeClock(std::move(time_ns));
    readings.insert(readings.begin(), kFull);
    TimerOfClocks timer({&before, &clock_}, size, std::make_unique<FakeWatch>(readings));
    EXPECT_TRUE(timer.time({}, {}).ok());
    const Result<Timing> timing = timer.time({}, {.stop_above_ns = kLimitNs});
    EXPECT_TRUE(timing.ok()) << timing.status().message();
    return timing.ok() ? *timing : Timing();
  }

  std::int64_t calls() const {
    std::int64_t sum = 0;
    for (const auto& [of_batch, batches] : clock_.rounds) sum += of_batch * batches;
    return sum;
  }

  FakeClock clock_{nullptr};
};

std::function<double(std::int64_t)> always(double ns);

TEST_F(EarlyRaceTest, OnAHotGpuTheLimitIsThatOfItsClock) {
  const auto calls_of = [&](double part, double since_mhz) {
    FakeClock clock(always(part * kLimitNs));
    TimerOfClocks({&clock}, kSingleCalls, std::make_unique<FakeWatch>(std::vector{kCapped}))
        .time({}, {.max_seconds = 0.01, .stop_above_ns = kLimitNs, .stop_above_mhz = since_mhz})
        .value();
    std::int64_t calls = 0;
    for (const auto& [of_batch, batches] : clock.rounds) calls += of_batch * batches;
    return calls;
  };
  EXPECT_EQ(calls_of(1.32 * 1.12, 1980), 6);  // 1980 / 1500 is 1.32
  EXPECT_GT(calls_of(1.32 * 1.04, 1980), 100);
  EXPECT_GT(calls_of(1.32 * 1.12, 0), 100) << "the clock of the limit is not known";
}

std::function<double(std::int64_t)> always(double ns) {
  return [ns](std::int64_t) { return ns; };
}

TEST_F(EarlyRaceTest, SixCallsShowThatWorkIsFarTooSlow) {
  const Timing timing = raced(always(1.11 * kLimitNs));
  EXPECT_TRUE(timing.censored);
  EXPECT_THAT(timing.samples_ns, testing::AllOf(SizeIs(6), Each(1.11 * kLimitNs)));
  EXPECT_EQ(timing.clocks.sm_mhz, 1980);
  EXPECT_EQ(timing.note, "");
  EXPECT_EQ(calls(), 6);
}

TEST_F(EarlyRaceTest, OneWindowShowsThatWorkIsTooSlow) {
  const Timing timing = raced(always(1.06 * kLimitNs));
  EXPECT_TRUE(timing.censored);
  EXPECT_THAT(clock_.rounds, SizeIs(2)) << "six calls and a window";
  EXPECT_LE(calls(), 30);
}

TEST_F(EarlyRaceTest, WhatIsALittleSlowerLosesAfterTheWarmUp) {
  const Timing timing = raced(always(1.04 * kLimitNs));
  EXPECT_TRUE(timing.censored);
  EXPECT_GE(calls(), 45);
}

TEST_F(EarlyRaceTest, WhatIsAsFastIsMeasuredInFull) {
  EXPECT_FALSE(raced(always(kLimitNs)).censored);
}

TEST_F(EarlyRaceTest, ShortWorkMayTakeSomeMore) {
  const double limit_ns = 3000;  // 10 % and 0.3 us more are 3.6 us
  for (const double ns : {3500.0, 3700.0}) {
    FakeClock before(always(limit_ns));
    FakeClock clock(always(ns));
    TimerOfClocks timer({&before, &clock}, kSingleCalls,
                        std::make_unique<FakeWatch>(std::vector{kFull}));
    EXPECT_TRUE(timer.time({}, {}).ok());
    EXPECT_TRUE(timer.time({}, {.stop_above_ns = limit_ns})->censored);
    EXPECT_THAT(clock.rounds, SizeIs(ns > 3600 ? 1 : 2)) << ns;
  }
}

TEST_F(EarlyRaceTest, AClockWithACostOfItsOwnLooksAtNoSingleCalls) {
  EXPECT_TRUE(raced(always(2 * kLimitNs), {kFull}, {}).censored);
  EXPECT_EQ(clock_.rounds.front(), (std::pair<std::int64_t, std::int64_t>(1, 1)));
  EXPECT_THAT(clock_.rounds, SizeIs(2)) << "a call and a window";
}

// A GPU whose clocks have to rise makes the first launches of fast work slow.
TEST_F(EarlyRaceTest, ALookCountsOnlyAtFullClocks) {
  const auto rising = [](std::int64_t call) {
    return kLimitNs * std::max(0.9, 2 - 0.02 * static_cast<double>(call));
  };
  constexpr ClockSample kIdle{345, 3201, 80, 30, 1};
  EXPECT_FALSE(raced(rising, {kIdle, kIdle, kFull}).censored);
  EXPECT_FALSE(raced(rising, {kCapped, kCapped, kFull}).censored);
  EXPECT_TRUE(raced(rising).censored) << "full clocks: the work itself is slow at first";
}

TEST_F(EarlyRaceTest, WithoutKnownClocksThereIsNoLook) {
  EXPECT_TRUE(raced(always(2 * kLimitNs), {ClockSample()}).censored);
  EXPECT_GE(calls(), 30);
  FakeClock clock(always(2 * kLimitNs));
  EXPECT_TRUE(
      TimerOfClocks({&clock}, kSingleCalls).time({}, {.stop_above_ns = kLimitNs})->censored);
  EXPECT_GE(clock.rounds.size(), 4U);
}

TEST_F(EarlyRaceTest, WhatIsMeasuredInFullHasNoLooks) {
  FakeClock clock(always(kLimitNs));
  TimerOfClocks timer({&clock}, kSingleCalls, std::make_unique<FakeWatch>(std::vector{kFull}));
  EXPECT_TRUE(timer.time({}, {}).ok());
  EXPECT_EQ(clock.rounds.front(), (std::pair<std::int64_t, std::int64_t>(1, 1)));
}

// The share of races that work with noisy times loses early.
class EarlyRaceNoise : public EarlyRaceTest {
 protected:
  using Noise = std::function<double(std::mt19937_64&)>;  // the time of a call

  double share_lost_early(const Noise& noise, int races = 20'000) {
    FakeWatch* const watch = new FakeWatch(std::vector{kFull});
    FakeClock clock([&](std::int64_t) { return noise(random_); });
    TimerOfClocks timer({&clock}, kSingleCalls, std::unique_ptr<ClockWatch>(watch));
    EXPECT_TRUE(timer.time({}, {}).ok());
    int lost = 0;
    for (int race = 0; race < races; ++race) {
      clock.rounds.clear();
      const Timing timing = timer.time({}, {.stop_above_ns = kLimitNs}).value();
      lost += timing.censored && clock.rounds.size() < 3 ? 1 : 0;
    }
    return static_cast<double>(lost) / races;
  }

  std::mt19937_64 random_{1};
};

// Twice the noise of nearly all variants of a sweep on an H200 (2.6 %), on top of times that are
// 2 % slower at first.
TEST_F(EarlyRaceNoise, WorkAsFastAsTheLimitIsNotLost) {
  std::normal_distribution<double> normal(1.02, 0.05);
  EXPECT_EQ(share_lost_early([&](std::mt19937_64& random) { return kLimitNs * normal(random); }),
            0);
}

// The worst noise: half of the calls take no more than the least margin, all others far more.
TEST_F(EarlyRaceNoise, WhateverTheNoiseAtMostOneInTwentyIsLost) {
  const double median_ns = 1.05 * kLimitNs;
  std::bernoulli_distribution is_slow(0.5);
  const double share = share_lost_early(
      [&](std::mt19937_64& random) { return is_slow(random) ? 2 * kLimitNs : median_ns; }, 5000);
  EXPECT_LT(share, 0.05);
  EXPECT_GT(share, 0.005) << "one in 64 has six slow calls";
}

TEST_F(EarlyRaceNoise, NearlyAllThatIsAQuarterSlowerIsLost) {
  std::normal_distribution<double> normal(1.25, 0.03);
  EXPECT_GT(
      share_lost_early([&](std::mt19937_64& random) { return kLimitNs * normal(random); }, 1000),
      0.99);
}

}  // namespace
}  // namespace mgtune
