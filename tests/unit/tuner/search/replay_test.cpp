#include "search/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

double ascending(const Variant& variant) { return 1 + static_cast<double>(variant.values[0]); }

ReplayRequest request(const std::string& strategy, std::uint64_t seeds,
                      std::vector<std::size_t> budgets = {}) {
  return {.strategy = strategy, .seeds = seeds, .budgets = std::move(budgets)};
}

std::vector<Quality> found(const VariantSet& set, const TimeOf& time_of,
                           const ReplayRequest& request) {
  return qualities(request.budgets, replay(set, time_of, request).value());
}

// Where each seed stops with a target of 0.98.
std::vector<Stop> stops(const VariantSet& set, const ReplayRequest& request, std::size_t limit) {
  ReplayRequest with_target = request;
  with_target.target = 0.98;
  with_target.target_limit = limit;
  std::vector<Stop> stops;
  for (const SeedRun& run : replay(set, ascending, with_target).value()) {
    stops.push_back(run.stop.value());
  }
  return stops;
}

TEST(ReplayTest, CountsFailuresAndStopsWithTheSet) {
  const SyntheticSet set = SyntheticSet::product({10});
  const ReplayRequest exhaustive = request("exhaustive", 3, {1, 2, 5, 20});
  const std::vector<Quality> qualities = found(set, descending, exhaustive);
  const std::vector<double> expected = {0, 2.0 / 10, 2.0 / 7, 1};
  ASSERT_EQ(qualities.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(qualities[i].evaluations, exhaustive.budgets[i]);
    EXPECT_DOUBLE_EQ(qualities[i].mean, expected[i]);
    EXPECT_NEAR(qualities[i].ci95, 0, 1e-12);
  }
}

TEST(ReplayTest, TellsEachSeedByItself) {
  const SyntheticSet set = SyntheticSet::product({50});
  const std::vector<SeedRun> runs = replay(set, ascending, request("random", 30, {1, 50})).value();
  ASSERT_EQ(runs.size(), 30U);
  double sum = 0;
  for (const SeedRun& run : runs) {
    ASSERT_EQ(run.fractions.size(), 2U);
    EXPECT_EQ(run.fractions[1], 1);
    EXPECT_FALSE(run.stop.has_value()) << "no target";
    sum += run.fractions[0];
  }
  std::set<double> different;
  for (const SeedRun& run : runs) different.insert(run.fractions[0]);
  EXPECT_GT(different.size(), 10U);
  EXPECT_NEAR(found(set, ascending, request("random", 30, {1}))[0].mean, sum / 30, 1e-12);
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
  for (const Quality& quality : found(set, time_of, request("random", 2000, {1, 4, 12}))) {
    EXPECT_NEAR(quality.mean, random_expectation(times, quality.evaluations), 2 * quality.ci95);
    EXPECT_GT(quality.ci95, 0);
    EXPECT_LT(quality.ci95, 0.02);
  }
}

TEST(ReplayTest, TellsTheWorstSeed) {
  const SyntheticSet set = SyntheticSet::product({50});
  const std::vector<Quality> qualities = found(set, ascending, request("random", 30, {1, 50}));
  EXPECT_LT(qualities[0].worst, 0.1);
  EXPECT_LT(qualities[0].worst, qualities[0].mean);
  EXPECT_EQ(qualities[1].worst, 1);
}

TEST(ReplayTest, GoesOnToItsTargetToItsLimitOrToTheEnd) {
  const SyntheticSet set = SyntheticSet::product({50});
  // Of times so far apart each is alone, so nearly all have to be seen.
  for (const Stop& stop : stops(set, request("random", 5), 1000)) {
    EXPECT_TRUE(stop.reached);
    EXPECT_GE(stop.evaluations, 36U);
    EXPECT_LE(stop.evaluations, 50U);
  }
  for (const Stop& stop : stops(set, request("random", 2), 10)) {
    EXPECT_FALSE(stop.reached);
    EXPECT_EQ(stop.evaluations, 10U);
  }
  const Stop all = stops(set, request("exhaustive", 1), 1000).front();
  EXPECT_FALSE(all.reached);
  EXPECT_EQ(all.evaluations, 50U);
  EXPECT_EQ(all.fraction, 1);
}

TEST(ReplayTest, BudgetsAndATargetAreIndependent) {
  const SyntheticSet set = SyntheticSet::product({50});
  const std::vector<Stop> alone = stops(set, request("random", 5), 1000);
  const std::vector<Stop> both = stops(set, request("random", 5, {20, 50}), 1000);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(both[i].evaluations, alone[i].evaluations) << "the search goes on to its budget";
    EXPECT_EQ(both[i].fraction, alone[i].fraction);
  }
}

TEST(ReplayTest, StartsWithWhatOtherSpacesAndRulesSay) {
  const SyntheticSet set = SyntheticSet::product({50});
  ReplayRequest with_rules = request("random", 3, {1});
  with_rules.ranked = {{0, {0}}};
  EXPECT_EQ(found(set, ascending, with_rules)[0].worst, 1);
  ReplayRequest warm = request("adaptive", 3, {1});
  warm.warm_start = {{{0, {0}}, 1.0}};
  EXPECT_EQ(found(set, ascending, warm)[0].worst, 1);
}

TEST(ReplayTest, UnknownStrategy) {
  const SyntheticSet set = SyntheticSet::product({5});
  EXPECT_EQ(replay(set, descending, request("adaptve", 1, {2})).status().message(),
            "unknown strategy 'adaptve'; did you mean 'adaptive'? It must be one of: adaptive, "
            "exhaustive, random");
}

}  // namespace
}  // namespace mgtune
