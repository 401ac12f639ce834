// Spaces that cannot be listed while somebody waits: what is counted, drawn and sought of them.
// Where work can be counted it is; times are bounded by several times what a busy machine takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <set>

#include "search/search.h"
#include "space/sampler.h"
#include "space/space.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/operators/large_family.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kMostTime{60};

class LargeSpaceTest : public ::testing::Test {
 protected:
  static Operator large(int parameters, const std::vector<std::string>& constraints) {
    Result<Operator> op = decode_text("large.copy", large_family_json(parameters, constraints));
    EXPECT_TRUE(op.ok()) << op.status().message();
    return std::move(op).value();
  }

  static Space space_of(const Operator& op) {
    return Space(*bind_problem(op, {{"n", "100"}, {"T", "f32"}}), kH200);
  }

  // `count` variants of every strategy in time, all admissible and none twice.
  static void expect_variants(const Space& space, int count) {
    for (const std::string& strategy : search_strategies()) {
      const Clock::time_point start = Clock::now();
      const auto search = make_search(strategy, space, 1).value();
      std::set<std::uint64_t> given;
      for (int i = 0; i < count; ++i) {
        const std::optional<Variant> variant = search->next();
        ASSERT_TRUE(variant.has_value()) << strategy;
        ASSERT_TRUE(space.admits(*variant));
        EXPECT_TRUE(given.insert(space.index(*variant)).second) << strategy;
        search->report({*variant, Outcome::ok, 100.0 + static_cast<double>(i % 7)});
      }
      EXPECT_LT(Clock::now() - start, kMostTime) << strategy;
    }
  }
};

TEST_F(LargeSpaceTest, TenMillionPointsAreCountedAndSearched) {
  for (const auto& constraints : {kPrunedEarly, pruned_late(7)}) {
    const Operator op = large(7, constraints);
    const Space space = space_of(op);
    EXPECT_EQ(space.size(), 10'000'000U);
    const std::vector<DesignStatistics> statistics = space.statistics(kCountedNodes);
    const bool is_early = constraints == kPrunedEarly;
    EXPECT_EQ(is_counted(statistics), is_early);
    EXPECT_EQ(admissible_variants(space.statistics()), 100'000U);
    expect_variants(space, 20);
  }
}

TEST_F(LargeSpaceTest, TenBillionPointsAreSearchedWithoutCounting) {
  for (const auto& constraints : {kPrunedEarly, pruned_late(10)}) {
    const Operator op = large(10, constraints);
    const Space space = space_of(op);
    EXPECT_EQ(space.size(), 10'000'000'000U);
    const std::vector<DesignStatistics> statistics = space.statistics(1'000'000);
    EXPECT_FALSE(is_counted(statistics));
    EXPECT_GT(statistics[0].admissible, 0U);
    EXPECT_LT(statistics[0].admissible, 1'000'000U);
    EXPECT_EQ(statistics[0].unavailable, "");
    expect_variants(space, 20);
  }
}

TEST_F(LargeSpaceTest, TheFewOfTenBillionAreFound) {
  // 100,000 of 10^10: hardly a draw meets one.
  const Operator op = large(10, {"P0 == P1", "P2 == P3", "P4 == P5", "P6 == P7", "P8 == P9"});
  const Space space = space_of(op);
  EXPECT_EQ(admissible_variants(space.statistics(kCountedNodes)), 100'000U);
  expect_variants(space, 50);
}

TEST_F(LargeSpaceTest, TheFewOfTenBillionAreDrawnFromEverywhere) {
  const Operator op = large(10, {"P0 == P1", "P2 == P3", "P4 == P5", "P6 == P7", "P8 == P9"});
  const Space space = space_of(op);
  Sampler sampler(space, 1);
  std::vector<std::vector<int>> drawn(10, std::vector<int>(10, 0));
  for (int i = 0; i < 1000; ++i) {
    const std::optional<Variant> variant = sampler.next();
    ASSERT_TRUE(variant.has_value());
    for (std::size_t k = 0; k < 10; ++k) ++drawn[k][std::size_t(variant->values[k])];
  }
  // Each value 100 times; the deviation of that is 9.5.
  for (const std::vector<int>& of_parameter : drawn) {
    EXPECT_THAT(of_parameter, testing::Each(testing::AllOf(testing::Gt(50), testing::Lt(150))));
  }
}

TEST_F(LargeSpaceTest, WanderingMeetsEveryVariantOnce) {
  const Operator op = golden_operator("swiglu.gate_up");
  const Space space(*bind_problem(op, {{"M", "64"}, {"K", "4096"}, {"H", "14336"}, {"T", "bf16"}}),
                    kH200);
  RandomStream random(7);
  WalkLimit none;
  std::set<std::uint64_t> met;
  for (std::size_t design = 0; design < space.design_count(); ++design) {
    const auto meet = [&](const Variant& variant) {
      EXPECT_TRUE(space.admits(variant));
      return met.insert(space.index(variant)).second;
    };
    EXPECT_TRUE(space.wander_through(design, random, meet, none));
  }
  EXPECT_EQ(met.size(), count_variants(space));
}

TEST_F(LargeSpaceTest, ASamplerGivesEachOfAFewOnceAndEnds) {
  const Operator op = large(
      8, {"P0 == 3 || P0 == 8", "P1 == 0", "P2 == 0", "P3 == 9", "P4 == 9", "P5 == 1", "P6 == 2"});
  const Space space = space_of(op);
  ASSERT_GT(space.size(), 1U << 24U) << "never listed";
  Sampler sampler(space, 3);
  std::set<std::uint64_t> drawn;
  while (const std::optional<Variant> variant = sampler.next()) {
    EXPECT_TRUE(space.admits(*variant));
    EXPECT_TRUE(drawn.insert(space.index(*variant)).second);
  }
  EXPECT_EQ(drawn.size(), 20U);
  EXPECT_EQ(sampler.next(), std::nullopt);
}

TEST_F(LargeSpaceTest, TheNextAdmissiblePointIsTheOneThatCountingWouldFind) {
  const Operator op = golden_operator("swiglu.gate_up");
  const Space space(*bind_problem(op, {{"M", "64"}, {"K", "4096"}, {"H", "14336"}, {"T", "bf16"}}),
                    kH200);
  std::uint64_t steps = 0;
  WalkLimit none;
  std::optional<std::uint64_t> sought = space.next_admissible(0, none);
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    if (!space.admits(space.point(index))) continue;
    ASSERT_EQ(sought, index);
    ASSERT_EQ(space.next_admissible(index, none), index);
    sought = space.next_admissible(index + 1, none);
    ++steps;
  }
  EXPECT_EQ(sought, std::nullopt);
  EXPECT_EQ(steps, count_variants(space));
}

// No point of the 10^13 is admissible, which is known only once all parameters are.
TEST_F(LargeSpaceTest, ASearchForWhatIsNotThereEndsAtItsLimit) {
  const Operator op = large(13, pruned_wholly(13));
  const Space space = space_of(op);
  EXPECT_EQ(space.size(), 10'000'000'000'000U);
  for (const std::string& strategy : search_strategies()) {
    const auto limit = std::make_shared<WalkLimit>(100'000);
    const auto search = make_search(strategy, space, 1, {}, limit).value();
    for (int attempt = 0; attempt < 2; ++attempt) {
      limit->restart({});
      EXPECT_EQ(search->next(), std::nullopt) << strategy;
      EXPECT_EQ(limit->end(), WalkLimit::End::steps) << strategy;
      EXPECT_EQ(limit->steps(), 100'000U) << strategy;
    }
  }
}

TEST_F(LargeSpaceTest, ASearchEndsWhenItIsStopped) {
  const Operator op = large(13, pruned_wholly(13));
  const Space space = space_of(op);
  const Clock::time_point start = Clock::now();
  for (const std::string& strategy : search_strategies()) {
    int looks = 0;
    const auto limit = std::make_shared<WalkLimit>(std::numeric_limits<std::uint64_t>::max(),
                                                   [&looks] { return ++looks > 3; });
    const auto search = make_search(strategy, space, 1, {}, limit).value();
    EXPECT_EQ(search->next(), std::nullopt) << strategy;
    EXPECT_EQ(limit->end(), WalkLimit::End::stopped) << strategy;
    EXPECT_EQ(looks, 4) << strategy;
    looks = -1'000'000'000;
    limit->restart(Clock::now() + std::chrono::milliseconds(10));
    EXPECT_EQ(search->next(), std::nullopt) << strategy;
    EXPECT_EQ(limit->end(), WalkLimit::End::stopped) << strategy;
  }
  EXPECT_LT(Clock::now() - start, kMostTime);
}

// The limit says nothing about the space: once there is more time, all variants are found.
TEST_F(LargeSpaceTest, ASearchThatWasStoppedGoesOn) {
  const Operator op = large(3, {"P0 == P1"});
  const Space space = space_of(op);
  const std::size_t all = count_variants(space);
  for (const std::string& strategy : search_strategies()) {
    std::uint64_t calls = 0;
    bool is_late = false;
    const auto limit = std::make_shared<WalkLimit>(std::numeric_limits<std::uint64_t>::max(),
                                                   [&] { return is_late; });
    const auto search = make_search(strategy, space, 1, {}, limit).value();
    std::set<std::uint64_t> given;
    while (true) {
      is_late = ++calls % 3 == 0;
      limit->restart({});
      const std::optional<Variant> variant = search->next();
      if (!variant.has_value() && limit->end() == WalkLimit::End::none) break;
      if (!variant.has_value()) continue;
      EXPECT_TRUE(given.insert(space.index(*variant)).second) << strategy;
      search->report({*variant, Outcome::ok, 100.0 + static_cast<double>(calls % 7)});
    }
    EXPECT_EQ(given.size(), all) << strategy;
  }
}

TEST_F(LargeSpaceTest, CountingVisitsNoMoreThanItIsAllowed) {
  const Operator op = large(7, {});
  const Space space = space_of(op);
  for (const std::uint64_t nodes : {1U, 10U, 5000U}) {
    const DesignStatistics statistics = space.statistics(nodes)[0];
    EXPECT_FALSE(statistics.counted);
    EXPECT_LE(statistics.admissible, nodes);
    EXPECT_GE(statistics.admissible + 10, nodes * 8 / 10);
    EXPECT_EQ(statistics.points, 10'000'000U);
  }
  // Every leaf and every beginning of one is a node.
  constexpr std::uint64_t kNodes = 11'111'111;
  EXPECT_TRUE(space.statistics(kNodes)[0].counted);
  EXPECT_FALSE(space.statistics(kNodes - 1)[0].counted);
}

TEST_F(LargeSpaceTest, ADesignLeavesToTheOthersWhatItDoesNotNeed) {
  const Operator op = golden_operator("swiglu.gate_up");
  const Space space(*bind_problem(op, {{"M", "64"}, {"K", "4096"}, {"H", "14336"}, {"T", "bf16"}}),
                    kH200);
  std::uint64_t least = 1;
  while (!is_counted(space.statistics(least))) least *= 2;
  EXPECT_LT(least, 4 * space.size());
  EXPECT_EQ(admissible_variants(space.statistics(least)), count_variants(space));
}

TEST_F(LargeSpaceTest, MorePointsThanCanBeNumberedAreRefused) {
  EXPECT_EQ(space_of(large(15, {})).size(), 1'000'000'000'000'000U);
  const Result<Operator> op = decode_text("large.copy", large_family_json(16, {}));
  ASSERT_FALSE(op.ok());
  EXPECT_EQ(op.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(op.status().message(),
              testing::HasSubstr("copy.json: /designs/flat/params/P15: with this parameter the "
                                 "design has more than 10^15 points"));
}

}  // namespace
}  // namespace mgtune
