// The default strategy on spaces with known times. What it finds is compared with the exact
// expectation of drawing at random, over fixed seeds: a failure repeats. Under sanitizers the
// search takes ten times as long, so that fewer seeds run there, and means over them are not
// compared.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "search/replay.h"
#include "search/search.h"
#include "space/random_stream.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/synthetic_set.h"

namespace mgtune {
namespace {

std::unique_ptr<Search> adaptive(const VariantSet& set, std::uint64_t seed,
                                 const WarmStart& warm_start = {}) {
  return make_search("adaptive", set, seed, warm_start).value();
}

std::vector<double> all_times(const VariantSet& set, const TimeOf& time_of) {
  std::vector<double> times;
  set.for_each([&](const Variant& variant) {
    times.push_back(time_of(variant));
    return true;
  });
  return times;
}

// A number in [0, 1) that depends on nothing but the variant.
double noise(const VariantSet& set, const Variant& variant) {
  return RandomStream(set.index(variant) + 1).uniform();
}

double at(const Variant& variant, std::size_t parameter) {
  return static_cast<double>(variant.values[parameter]);
}

std::vector<Quality> qualities_of(const VariantSet& set, const TimeOf& time_of, std::uint64_t seeds,
                                  const std::vector<std::size_t>& budgets) {
  const ReplayRequest request{.strategy = "adaptive", .seeds = seeds, .budgets = budgets};
  return qualities(budgets, replay(set, time_of, request).value());
}

// The least lead over random that is expected after 40 and after 100 evaluations.
void expect_better(const VariantSet& set, const TimeOf& time_of, std::array<double, 2> lead) {
  const std::vector<double> times = all_times(set, time_of);
  const std::vector<Quality> found = qualities_of(set, time_of, kUnderSanitizer ? 1 : 6, {40, 100});
  if (kUnderSanitizer) return;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t budget = found[i].evaluations;
    EXPECT_GE(found[i].mean, random_expectation(times, budget) + lead[i]) << budget;
  }
}

// Every parameter has its own effect, in no order.
double separable(const Variant& variant) {
  double sum = 0;
  for (std::size_t i = 0; i < variant.values.size(); ++i) {
    const auto key = 100 * i + static_cast<std::uint64_t>(variant.values[i]);
    sum += RandomStream(key + 7).uniform();
  }
  return std::exp(0.6 * sum);
}

TEST(AdaptiveTest, BeatsRandomOnASeparableSpace) {
  expect_better(SyntheticSet::product({4, 5, 3, 2, 8, 2}), separable, {0.08, 0.03});
}

TEST(AdaptiveTest, BeatsRandomOnARuggedSpace) {
  const SyntheticSet set = SyntheticSet::product({4, 5, 3, 2, 8, 2});
  expect_better(set, [&](const Variant& v) { return separable(v) * std::exp(0.3 * noise(set, v)); },
                {0.08, 0.03});
}

TEST(AdaptiveTest, BeatsRandomInANarrowValley) {
  expect_better(SyntheticSet::product({12, 12, 12, 12}),
                [](const Variant& v) {
                  const double distance = std::pow(at(v, 0) - 3, 2) + std::pow(at(v, 1) - 8, 2) +
                                          std::pow(at(v, 2) - 2, 2) + std::pow(at(v, 3) - 10, 2);
                  return 1 + 20 * (1 - std::exp(-distance / 20));
                },
                {0.3, 0.4});
}

TEST(AdaptiveTest, BeatsRandomWhereMostVariantsFail) {
  // As kernels do: threads that are too many or do not fit the tile fail, three in four.
  expect_better(SyntheticSet::product({14, 8, 4, 4, 2, 2}),
                [](const Variant& v) {
                  const double threads = 32 * (at(v, 0) + 1) * (at(v, 1) + 1);
                  const double tile = std::exp2(at(v, 2) + at(v, 3));
                  if (threads > 1024 || threads * tile > 8192) return 0.0;
                  if (v.values[0] % (v.values[2] + 1) != 0) return 0.0;
                  const double off = std::log(threads / 512), work = std::log(tile / 8);
                  return std::exp(0.15 * off * off + 0.3 * work * work + 0.2 * at(v, 4) -
                                  0.3 * at(v, 4) * at(v, 5));
                },
                {0.04, 0.005});
}

TEST(AdaptiveTest, BeatsRandomOnSwitchesThatInteract) {
  expect_better(SyntheticSet::product(std::vector<std::int64_t>(13, 2)),
                [](const Variant& v) {
                  double sum = 0;
                  for (std::size_t i = 0; i < 13; ++i) {
                    sum += (RandomStream(i + 1).uniform() - 0.5) * at(v, i);
                    const std::size_t other = (i * 5 + 2) % 13;
                    sum += (RandomStream(i + 50).uniform() - 0.5) * at(v, i) * at(v, other);
                  }
                  return std::exp(sum);
                },
                {0.15, 0.1});
}

TEST(AdaptiveTest, IsAsGoodAsRandomWhereThereIsNothingToLearn) {
  const SyntheticSet set = SyntheticSet::product({4, 5, 3, 2, 8, 2});
  const TimeOf flat = [&](const Variant& v) { return 1 + 0.01 * noise(set, v); };
  const TimeOf random = [&](const Variant& v) { return std::exp(noise(set, v)); };
  for (const TimeOf& time_of : {flat, random}) {
    const std::vector<double> times = all_times(set, time_of);
    const auto found = qualities_of(set, time_of, kUnderSanitizer ? 1 : 10, {40, 100});
    if (kUnderSanitizer) continue;
    for (const Quality& quality : found) {
      EXPECT_GE(quality.mean + 2 * quality.ci95, random_expectation(times, quality.evaluations));
    }
  }
}

TEST(AdaptiveTest, TenMillionPointsAreNeverEnumerated) {
  const SyntheticSet set =
      SyntheticSet::product({10, 10, 10, 10, 10, 10, 10},
                            [](const Variant& v) { return (v.values[0] + v.values[1]) % 3 == 0; });
  const auto search = adaptive(set, 1);
  double best = 1e9;
  for (int i = 0; i < 120; ++i) {
    const Variant variant = *search->next();
    double time = 1;
    for (std::size_t k = 0; k < 7; ++k) time += 0.05 * std::abs(at(variant, k) - 4);
    best = std::min(best, time);
    search->report({variant, Outcome::ok, time});
  }
  EXPECT_EQ(set.enumerated, 0U);
  EXPECT_LT(set.admits_calls, 200000U);
  EXPECT_LT(best, 1.2);  // random: 1.35
}

TEST(AdaptiveTest, ASmallDesignBesideALargeOneIsSeen) {
  // 8 points that are the fastest beside 100,000, as in a union of a simple and a tuned design.
  std::vector<ParameterAxis> large = SyntheticSet::product({10, 10, 10, 10, 10}).axes(0);
  const ParameterAxis words{"LOAD", {7, 3, 5, 9}, false};
  const SyntheticSet set({large, {words, {"p0", {1, 2}, true}}});
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto search = adaptive(set, seed);
    double best = 1e9;
    for (int i = 0; i < 60; ++i) {
      const Variant variant = *search->next();
      const double time =
          variant.design == 1 ? 1 + 0.1 * (variant.values[0] != 5) : 2 + 0.1 * at(variant, 1);
      best = std::min(best, time);
      search->report({variant, Outcome::ok, time});
    }
    EXPECT_EQ(best, 1) << seed;
  }
}

TEST(AdaptiveTest, VisitsEverythingWhenEverythingFails) {
  const SyntheticSet set = SyntheticSet::product({5, 5, 5});
  const auto search = adaptive(set, 3);
  std::set<std::uint64_t> visited;
  while (const auto variant = search->next()) {
    EXPECT_TRUE(visited.insert(set.index(*variant)).second);
    search->report({*variant, Outcome::crashed, 0});
  }
  EXPECT_EQ(visited.size(), 125U);
}

TEST(AdaptiveTest, ResultsMayLagBehindAndComeInAnyOrder) {
  const SyntheticSet set = SyntheticSet::product({12, 12, 12, 3});
  const auto time = [](const Variant& v) {
    return 1 + 0.1 * (std::abs(at(v, 0) - 3) + std::abs(at(v, 1) - 8) + std::abs(at(v, 2) - 6));
  };
  const auto search = adaptive(set, 5);
  std::set<std::uint64_t> visited;
  std::deque<Variant> window;
  double best = 1e9;
  for (int i = 0; i < 200; ++i) {
    const std::optional<Variant> variant = search->next();
    ASSERT_TRUE(variant.has_value());
    EXPECT_TRUE(visited.insert(set.index(*variant)).second);
    window.push_back(*variant);
    if (window.size() < 16) continue;
    if (i % 3 == 0) std::swap(window.front(), window.back());
    best = std::min(best, time(window.front()));
    search->report({window.front(), Outcome::ok, time(window.front())});
    window.pop_front();
  }
  EXPECT_LT(best, 1.15);
}

TEST(AdaptiveTest, LearnsFromVariantsThatWereRacedOut) {
  const SyntheticSet set = SyntheticSet::product({12, 12, 12, 3});
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto search = adaptive(set, seed);
    double best = 1e9;
    for (int i = 0; i < 120; ++i) {
      const Variant v = *search->next();
      const double time =
          1 + 0.1 * (std::abs(at(v, 0) - 3) + std::abs(at(v, 1) - 8) + std::abs(at(v, 2) - 6));
      const bool raced_out = time > best;
      best = std::min(best, time);
      search->report({v, raced_out ? Outcome::raced_out : Outcome::ok, time});
    }
    EXPECT_LT(best, 1.15) << seed;
  }
}

TEST(AdaptiveTest, StartsWithTheBestOfAWarmStart) {
  const SyntheticSet set =
      SyntheticSet::product({10, 10, 10}, [](const Variant& v) { return v.values[0] != 9; });
  const Variant best{0, {1, 2, 3}}, second{0, {4, 5, 6}}, third{0, {7, 8, 8}};
  const Variant fourth{0, {0, 0, 0}}, inadmissible{0, {9, 1, 1}};
  const auto search = adaptive(
      set, 1, {{fourth, 1.4}, {second, 1.1}, {best, 1.0}, {inadmissible, 1.0}, {third, 1.3}});
  EXPECT_EQ(*search->next(), best);
  EXPECT_EQ(*search->next(), second);
  EXPECT_EQ(*search->next(), third);
  EXPECT_NE(*search->next(), fourth);
}

TEST(AdaptiveTest, TheLadderComesFirstAndTeaches) {
  const std::vector<ParameterAxis> axes = SyntheticSet::product({6, 6}).axes(0);
  const SyntheticSet set({axes}, nullptr, {{0, {2, 2}}, {0, {5, 0}}});
  const auto search = adaptive(set, 1);
  std::set<std::uint64_t> visited;
  std::vector<Variant> order;
  while (const auto variant = search->next()) {
    order.push_back(*variant);
    EXPECT_TRUE(visited.insert(set.index(*variant)).second);
    search->report({*variant, Outcome::ok, 1 + at(*variant, 0)});
  }
  EXPECT_EQ(order.size(), 36U);
  EXPECT_EQ(order[0], (Variant{0, {2, 2}}));
  EXPECT_EQ(order[1], (Variant{0, {5, 0}}));
}

TEST(AdaptiveTest, GoesOnBeyondWhatItsModelHolds) {
  const SyntheticSet set = SyntheticSet::product({30, 30, 3});
  const auto search = adaptive(set, 2);
  for (int i = 0; i < 450; ++i) {
    const std::optional<Variant> variant = search->next();
    ASSERT_TRUE(variant.has_value());
    search->report({*variant, Outcome::ok, 1 + noise(set, *variant)});
  }
}

TEST(AdaptiveTest, ASpaceOfOneVariantEnds) {
  const SyntheticSet set = SyntheticSet::product({1, 1});
  const auto search = adaptive(set, 1);
  EXPECT_TRUE(search->next().has_value());
  EXPECT_FALSE(search->next().has_value());
}

TEST(AdaptiveTest, AGainIsUnlikelyOnceAHundredInARowBroughtNone) {
  const SyntheticSet set = SyntheticSet::product({12, 12, 12});
  const auto search = adaptive(set, 1);
  double best = 1e9;
  int since = 0, evaluations = 0;
  while (search->chance_of_gain(0.02) >= 0.05) {
    ASSERT_LT(++evaluations, 1000);
    const Variant variant = *search->next();
    double time = 1;
    for (std::size_t k = 0; k < 3; ++k) time += 0.05 * std::abs(at(variant, k) - 4);
    since = time < 0.98 * best ? 0 : since + 1;
    best = std::min(best, time);
    search->report({variant, Outcome::ok, time});
    if (since < 90) {
      EXPECT_EQ(search->chance_of_gain(0.02), 1);
    }
  }
  EXPECT_EQ(best, 1);
  EXPECT_LT(evaluations, 200);
  EXPECT_GE(search->chance_of_gain(0.001), search->chance_of_gain(0.02));
  EXPECT_LT(search->chance_of_gain(0.5), 1e-3);
}

TEST(AdaptiveTest, AStopByItsTargetIsAtIt) {
  const SyntheticSet set = SyntheticSet::product({4, 5, 3, 2, 8, 2});
  const TimeOf rugged = [&](const Variant& v) {
    return separable(v) * std::exp(0.3 * noise(set, v));
  };
  const int seeds = kUnderSanitizer ? 2 : 20;
  int within = 0;
  const ReplayRequest request{.strategy = "adaptive",
                              .seeds = static_cast<std::uint64_t>(seeds),
                              .target = 0.98,
                              .target_limit = 2000};
  for (const SeedRun& run : replay(set, rugged, request).value()) {
    EXPECT_TRUE(run.stop->reached);
    EXPECT_LT(run.stop->evaluations, 1500U);
    within += run.stop->fraction >= 0.98 ? 1 : 0;
  }
  EXPECT_GE(within, seeds - 1);
}

// 10,368 variants whose parameters matter as much as what is each variant's own. The fastest is the
// luckiest of many good ones, and nothing tells which one that is.
TEST(AdaptiveTest, DoesNotSayWhatNobodyCanKnow) {
  const SyntheticSet set = SyntheticSet::product({12, 12, 12, 6});
  const TimeOf lucky = [&](const Variant& variant) {
    RandomStream own(set.index(variant) + 1);
    const double distance =
        std::abs(at(variant, 0) - 4) + std::abs(at(variant, 1) - 7) + std::abs(at(variant, 2) - 5);
    return std::exp(0.06 * distance + 0.2 * own.normal());
  };
  const ReplayRequest request{
      .strategy = "adaptive", .seeds = 2, .target = 0.98, .target_limit = 220};
  for (const SeedRun& run : replay(set, lucky, request).value()) {
    EXPECT_FALSE(run.stop->reached) << run.stop->evaluations;
  }
}

TEST(AdaptiveTest, SaysNothingAboutASetThatIsTooLargeToLookAt) {
  const SyntheticSet set = SyntheticSet::product({10, 10, 10, 10, 10, 10, 10});
  const auto search = adaptive(set, 1);
  for (int i = 0; i < 130; ++i) {
    const Variant variant = *search->next();
    search->report({variant, Outcome::ok, i == 0 ? 1.0 : 2.0});
  }
  EXPECT_EQ(search->chance_of_gain(0.02), 1);
  EXPECT_EQ(set.enumerated, 0U);
}

// Whoever does the long work of a search gets the same variants as who leaves it to next().
TEST(AdaptiveTest, ItsLongWorkIsWhatItWouldDoItself) {
  const SyntheticSet set = SyntheticSet::product({4, 5, 3, 2, 8, 2});
  const auto own = adaptive(set, 1), helped = adaptive(set, 1);
  std::vector<int> works;
  for (int i = 0; i < 200; ++i) {
    if (const std::function<void()> work = helped->long_work()) {
      work();
      works.push_back(i);
      EXPECT_FALSE(helped->long_work()) << "it is done";
    }
    const Variant variant = *own->next();
    ASSERT_EQ(helped->next(), variant) << i;
    const Evaluation evaluation{variant, Outcome::ok, separable(variant)};
    own->report(evaluation);
    helped->report(evaluation);
  }
  ASSERT_GE(works.size(), 3U);
  EXPECT_GE(works.front(), 100) << "before that it takes no long time";
  EXPECT_LE(works.size(), 6U);
}

TEST(AdaptiveTest, NothingIsLeftOnceEverythingWasVisited) {
  const SyntheticSet set = SyntheticSet::product({5, 5, 5});
  const auto search = adaptive(set, 1);
  int reported = 0;
  while (const auto variant = search->next()) {
    search->report({*variant, Outcome::ok, ++reported == 1 ? 1 : 1.1 + 0.5 * noise(set, *variant)});
  }
  EXPECT_EQ(reported, 125);
  EXPECT_EQ(search->chance_of_gain(0.02), 0);
}

}  // namespace
}  // namespace mgtune
