#include "search/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/helpers/synthetic_set.h"

namespace mgtune {
namespace {

// The mean over every subset of `evaluations` times.
double brute_force(const std::vector<double>& times, std::size_t evaluations) {
  std::vector<bool> drawn(times.size());
  std::fill_n(drawn.begin(), std::min(evaluations, times.size()), true);
  double optimum = 0;
  for (const double time : times) {
    if (time > 0 && (optimum == 0 || time < optimum)) optimum = time;
  }
  double sum = 0, subsets = 0;
  do {
    double best = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (drawn[i] && times[i] > 0 && (best == 0 || times[i] < best)) best = times[i];
    }
    sum += best > 0 ? optimum / best : 0;
    ++subsets;
  } while (std::prev_permutation(drawn.begin(), drawn.end()));
  return sum / subsets;
}

TEST(RandomExpectationTest, AgreesWithEverySubset) {
  const std::vector<double> times = {3, 1.5, 0, 9, 0, 2, 2, 0, 4.5, 1.7, 0, 12};
  for (std::size_t evaluations = 1; evaluations <= times.size() + 1; ++evaluations) {
    EXPECT_NEAR(random_expectation(times, evaluations), brute_force(times, evaluations), 1e-12)
        << evaluations;
  }
}

TEST(RandomExpectationTest, OfFailuresAloneIsNothing) {
  EXPECT_EQ(random_expectation({0, 0, 0}, 2), 0);
  EXPECT_EQ(random_expectation({}, 2), 0);
  EXPECT_EQ(random_expectation({5}, 1), 1);
}

// 10 variants in the order of the list: failure, 10, 9, ..., 2.
double descending(const Variant& variant) {
  return variant.values[0] == 0 ? 0 : 11 - static_cast<double>(variant.values[0]);
}

TEST(ReplayTest, CountsFailuresAndStopsWithTheSet) {
  const SyntheticSet set = SyntheticSet::product({10});
  constexpr std::array<std::size_t, 4> kBudgets = {1, 2, 5, 20};
  const auto found = replay(set, descending, "exhaustive", 3, kBudgets);
  ASSERT_TRUE(found.ok());
  const std::vector<double> expected = {0, 2.0 / 10, 2.0 / 7, 1};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*found)[i].evaluations, kBudgets[i]);
    EXPECT_DOUBLE_EQ((*found)[i].mean, expected[i]);
    EXPECT_NEAR((*found)[i].ci95, 0, 1e-12);
  }
}

TEST(ReplayTest, RandomComesOutAtItsExpectation) {
  const SyntheticSet set = SyntheticSet::product({50});
  const TimeOf time_of = [](const Variant& variant) {
    return variant.values[0] % 4 == 0 ? 0 : 1 + static_cast<double>(variant.values[0] * 7 % 50);
  };
  std::vector<double> times;
  set.for_each([&](const Variant& variant) {
    times.push_back(time_of(variant));
    return true;
  });
  constexpr std::array<std::size_t, 3> kBudgets = {1, 4, 12};
  const std::vector<Quality> found = replay(set, time_of, "random", 2000, kBudgets).value();
  for (const Quality& quality : found) {
    EXPECT_NEAR(quality.mean, random_expectation(times, quality.evaluations), 2 * quality.ci95);
    EXPECT_GT(quality.ci95, 0);
    EXPECT_LT(quality.ci95, 0.02);
  }
}

TEST(ReplayTest, TellsTheWorstSeed) {
  const SyntheticSet set = SyntheticSet::product({50});
  const TimeOf time_of = [](const Variant& variant) {
    return 1 + static_cast<double>(variant.values[0]);
  };
  constexpr std::array<std::size_t, 2> kBudgets = {1, 50};
  const std::vector<Quality> found = replay(set, time_of, "random", 30, kBudgets).value();
  EXPECT_LT(found[0].worst, 0.1);
  EXPECT_LT(found[0].worst, found[0].mean);
  EXPECT_EQ(found[1].worst, 1);
}

TEST(ReplayTest, GoesOnToItsTargetToItsLimitOrToTheEnd) {
  const SyntheticSet set = SyntheticSet::product({50});
  const TimeOf time_of = [](const Variant& variant) {
    return 1 + static_cast<double>(variant.values[0]);
  };
  // Of times so far apart each is alone: three in four of all have to be seen, and more.
  const std::vector<Stop> stops = replay_to_target(set, time_of, "random", 5, 0.98, 1000).value();
  ASSERT_EQ(stops.size(), 5U);
  for (const Stop& stop : stops) {
    EXPECT_TRUE(stop.reached);
    EXPECT_GE(stop.evaluations, 36U);
    EXPECT_LE(stop.evaluations, 50U);
  }
  for (const Stop& stop : replay_to_target(set, time_of, "random", 2, 0.98, 10).value()) {
    EXPECT_FALSE(stop.reached);
    EXPECT_EQ(stop.evaluations, 10U);
  }
  const Stop all = replay_to_target(set, time_of, "exhaustive", 1, 0.98, 1000).value().front();
  EXPECT_FALSE(all.reached);
  EXPECT_EQ(all.evaluations, 50U);
  EXPECT_EQ(all.fraction, 1);
}

TEST(ReplayTest, UnknownStrategy) {
  const SyntheticSet set = SyntheticSet::product({5});
  constexpr std::array<std::size_t, 1> kBudgets = {2};
  EXPECT_EQ(replay(set, descending, "adaptve", 1, kBudgets).status().message(),
            "unknown strategy 'adaptve'; did you mean 'adaptive'? It must be one of: adaptive, "
            "exhaustive, random");
}

}  // namespace
}  // namespace mgtune
