#include "search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "space/space.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

// 4 * 3 points of one design, 2 of another; 8 + 2 of them admissible.
constexpr const char* kToy = R"({
  "format": 1,
  "dims": {"n": "static"},
  "dtypes": {"T": ["f32"]},
  "tensors": {"x": {"role": "in", "dtype": "T", "shape": ["n"], "fill": "normal"},
              "y": {"role": "out", "dtype": "T", "shape": ["n"]}},
  "cost": {"bytes": "8 * n", "flops": "n"},
  "check": {"reference": "toy_reference", "measure": "relative_l2", "tolerance": {"f32": 1e-6}},
  "designs": {
    "flat": {
      "source": "toy.cu",
      "params": {"A": [1, 2, 4, 8], "B": [1, 2, 3]},
      "constraints": ["A * B <= 8"],
      "launches": [{"kernel": "flat<A, B>", "grid": ["1"], "block": ["32"], "args": ["x", "y"]}],
      "defaults": [{"A": 8, "B": 3}, {"A": 4, "B": 2}, {"A": 4, "B": 2}]
    },
    "deep": {
      "source": "toy.cu",
      "params": {"C": [1, 2]},
      "launches": [{"kernel": "deep<C>", "grid": ["1"], "block": ["32"], "args": ["x", "y"]}],
      "defaults": [{"C": 2}]
    }
  }
})";

class SearchTest : public ::testing::Test {
 protected:
  std::vector<std::string> order(const std::string& strategy, std::uint64_t seed) const {
    Result<std::unique_ptr<Search>> search = make_search(strategy, space_, seed);
    EXPECT_TRUE(search.ok()) << search.status().message();
    std::vector<std::string> texts;
    while (std::optional<Variant> variant = (*search)->next()) {
      texts.push_back(variant_text(op_, *variant));
      (*search)->report({*variant, Outcome::ok, 1.0});
    }
    return texts;
  }

  const Operator op_ = *decode_text("toy.forward", kToy);
  const Problem problem_ = *bind_problem(op_, {{"n", "64"}, {"T", "f32"}});
  const Space space_{problem_, kT4};
};

TEST_F(SearchTest, NamesItsStrategiesSorted) {
  EXPECT_THAT(search_strategies(), ::testing::IsSupersetOf({"adaptive", "exhaustive", "random"}));
  EXPECT_TRUE(std::ranges::is_sorted(search_strategies()));
}

TEST_F(SearchTest, UnknownStrategySuggests) {
  const auto search = make_search("randon", space_, 1);
  ASSERT_FALSE(search.ok());
  EXPECT_EQ(search.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(search.status().message(),
            "unknown strategy 'randon'; did you mean 'random'? It must be one of: adaptive, "
            "exhaustive, random");
}

TEST_F(SearchTest, ExhaustiveIsTheLadderAndThenTheSpacesOrder) {
  EXPECT_THAT(order("exhaustive", 1),
              ::testing::ElementsAre("flat A=4 B=2", "deep C=2", "flat A=1 B=1", "flat A=1 B=2",
                                     "flat A=1 B=3", "flat A=2 B=1", "flat A=2 B=2", "flat A=2 B=3",
                                     "flat A=4 B=1", "flat A=8 B=1", "deep C=1"));
}

TEST_F(SearchTest, EveryStrategyVisitsTheSameVariantsOnceLadderFirst) {
  for (const std::string& strategy : search_strategies()) {
    const std::vector<std::string> texts = order(strategy, 7);
    ASSERT_EQ(texts.size(), 11U) << strategy;
    EXPECT_EQ(texts[0], "flat A=4 B=2");
    EXPECT_EQ(texts[1], "deep C=2");
    EXPECT_THAT(texts, ::testing::UnorderedElementsAreArray(order("exhaustive", 1))) << strategy;
  }
}

TEST_F(SearchTest, EveryStrategyRepeatsWithItsSeedAndChanceWithNoOther) {
  for (const std::string& strategy : search_strategies()) {
    EXPECT_EQ(order(strategy, 7), order(strategy, 7)) << strategy;
    std::set<std::vector<std::string>> orders;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) orders.insert(order(strategy, seed));
    if (strategy == "exhaustive") continue;
    EXPECT_GT(orders.size(), 5U) << strategy;
  }
}

TEST_F(SearchTest, EveryStrategyKeepsToARealSpaceWhileResultsLag) {
  const Operator op = golden_operator("attention.prefill");
  const Problem problem = *bind_problem(op, {{"batch", "2"},
                                             {"seq_q", "4096"},
                                             {"seq_k", "4096"},
                                             {"heads", "32"},
                                             {"kv_heads", "8"},
                                             {"head_dim", "128"},
                                             {"T", "bf16"}});
  const Space space(problem, kH200);
  for (const std::string& strategy : search_strategies()) {
    const auto search = make_search(strategy, space, 3).value();
    std::set<std::uint64_t> visited;
    std::vector<Variant> window;
    for (int i = 0; i < 100; ++i) {
      const std::optional<Variant> variant = search->next();
      ASSERT_TRUE(variant.has_value()) << strategy;
      EXPECT_TRUE(space.admits(*variant)) << variant_text(op, *variant);
      EXPECT_TRUE(visited.insert(space.index(*variant)).second) << variant_text(op, *variant);
      window.push_back(*variant);
      if (window.size() < 32) continue;
      for (const Variant& done : window) {
        const bool fails = space.index(done) % 5 == 0;
        search->report({done, fails ? Outcome::compile_failed : Outcome::ok,
                        1.0 + static_cast<double>(space.index(done) % 97)});
      }
      window.clear();
    }
  }
}

TEST_F(SearchTest, NothingIsToldOfAGainBeforeAnythingWasMeasured) {
  for (const std::string& strategy : search_strategies()) {
    const auto search = make_search(strategy, space_, 1).value();
    EXPECT_EQ(search->chance_of_gain(0.02), 1) << strategy;
    search->report({*search->next(), Outcome::crashed, 0});
    EXPECT_EQ(search->chance_of_gain(0.02), 1) << strategy;
  }
  EXPECT_TRUE(estimates_gain("adaptive"));
  EXPECT_FALSE(estimates_gain("exhaustive"));
  EXPECT_TRUE(starts_warm("adaptive"));
  EXPECT_FALSE(starts_warm("random"));
  for (const char* unknown : {"", "adaptiv", "zzz"}) {
    EXPECT_FALSE(estimates_gain(unknown)) << unknown;
    EXPECT_FALSE(starts_warm(unknown)) << unknown;
  }
  EXPECT_EQ(parse_target("0.98", "adaptiv").status().message(),
            "unknown strategy 'adaptiv'; did you mean 'adaptive'? It must be one of: adaptive, "
            "exhaustive, random");
}

TEST_F(SearchTest, WhatIsLeftToDrawMayHoldTheFastest) {
  const auto search = make_search("random", space_, 1).value();
  for (int i = 0; i < 10; ++i) search->report({*search->next(), Outcome::ok, 100.0 + 10 * i});
  EXPECT_NEAR(search->chance_of_gain(0.02), 1.0 / 11, 1e-9);   // one of eleven is left
  EXPECT_NEAR(search->chance_of_gain(0.15), 1.0 / 121, 1e-9);  // two are as fast as the fastest
  EXPECT_NEAR(search->chance_of_gain(0.9), 1.0 / 1331, 1e-9);  // more than three count as three
  search->report({*search->next(), Outcome::wrong, 0});
  EXPECT_EQ(search->chance_of_gain(0.02), 0);
}

TEST_F(SearchTest, LadderVariantsThatDoNotServeAreLeftOut) {
  for (const std::string& text : order("exhaustive", 1)) EXPECT_NE(text, "flat A=8 B=3");
}

}  // namespace
}  // namespace mgtune
