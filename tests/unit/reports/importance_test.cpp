#include "analysis/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <functional>
#include <random>

namespace mgtune {
namespace {

using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A whole space of one design: parameters A, B, C, ... with that many values each.
class Space {
 public:
  explicit Space(const std::vector<int>& sizes) {
    SpaceColumns& space = columns;
    space.designs.push_back({"row", {}});
    std::size_t count = 1;
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      space.designs[0].parameters.push_back(p);
      space.parameters.push_back({std::string(1, static_cast<char>('A' + p)), {}, {}});
      for (int v = 0; v < sizes[p]; ++v) space.parameters[p].values.push_back(std::to_string(v));
      count *= static_cast<std::size_t>(sizes[p]);
    }
    space.design.assign(count, 0);
    for (std::size_t row = 0; row < count; ++row) {
      std::size_t rest = row;
      for (std::size_t p = 0; p < sizes.size(); ++p) {
        space.parameters[p].index.push_back(
            static_cast<int>(rest % static_cast<std::size_t>(sizes[p])));
        rest /= static_cast<std::size_t>(sizes[p]);
      }
    }
  }

  // exp(log_time(values of the row)), for rows that `kept` holds of.
  Importance importance_of(const std::function<double(const std::vector<int>&)>& log_time,
                           const std::function<bool(std::size_t)>& kept = nullptr) const {
    std::vector<double> time_ns;
    for (std::size_t row = 0; row < columns.design.size(); ++row) {
      std::vector<int> values;
      for (const ParameterColumn& column : columns.parameters) values.push_back(column.index[row]);
      time_ns.push_back(kept && !kept(row) ? 0 : std::exp(log_time(values)));
    }
    return importance(columns, time_ns);
  }

  SpaceColumns columns;
};

const ParameterImportance& of(const Importance& result, std::size_t parameter) {
  for (const ParameterImportance& one : result.designs[0].parameters) {
    if (one.parameter == parameter) return one;
  }
  ADD_FAILURE() << "no parameter " << parameter;
  return result.designs[0].parameters[0];
}

TEST(ImportanceTest, ValuesOfOtherDesignsDoNotCount) {
  Space space({2, 4, 3});
  const auto log_time = [](const std::vector<int>& v) { return 1.0 * v[0] + 0.2 * v[1]; };
  const double total = of(space.importance_of(log_time), 0).total.value();
  space.columns.parameters[0].values.push_back("of another design");
  EXPECT_THAT(of(space.importance_of(log_time), 0).total.value(), DoubleNear(total, 1e-12));
}

TEST(ImportanceTest, IndependentEffectsShareTheVariance) {
  const Space space({2, 4, 3});
  // Variances of the effects: 1/4, 5/4 * 0.04, 0.
  const Importance result =
      space.importance_of([](const auto& v) { return 1.0 * v[0] + 0.2 * v[1]; });
  ASSERT_THAT(result.designs, SizeIs(1));
  EXPECT_EQ(result.designs[0].variants, 24);
  const double all = 0.25 + 0.04 * 1.25;
  EXPECT_THAT(of(result, 0).total.value(), DoubleNear(0.25 / all, 1e-9));
  EXPECT_THAT(of(result, 1).total.value(), DoubleNear(0.05 / all, 1e-9));
  EXPECT_THAT(of(result, 2).total.value(), DoubleNear(0, 1e-9));
  EXPECT_THAT(of(result, 0).main, DoubleNear(0.25 / all, 0.02));
  EXPECT_EQ(of(result, 2).main, 0) << "chance is no effect";
  EXPECT_EQ(result.designs[0].parameters[0].parameter, 0u) << "the most important first";
  EXPECT_THAT(result.designs[0].interactions, IsEmpty());
}

TEST(ImportanceTest, EffectsAreFactorsOverTheMeanWithTheirBest) {
  const Space space({2, 5});
  const Importance result =
      space.importance_of([](const auto& v) { return std::log(4) * v[0] + 0.1 * v[1]; });
  const ParameterImportance& a = of(result, 0);
  ASSERT_THAT(a.effects, SizeIs(2));
  EXPECT_NEAR(a.effects[0].ratio, 0.5, 1e-9);
  EXPECT_NEAR(a.effects[1].ratio, 2, 1e-9);
  EXPECT_LT(a.effects[1].low, 2);
  EXPECT_GT(a.effects[1].high, 2);
  EXPECT_NEAR(a.effects[0].best_ratio, 1, 1e-9);
  EXPECT_NEAR(a.effects[1].best_ratio, 4, 1e-9);
  EXPECT_NEAR(result.designs[0].spread, 4 * std::exp(0.4), 1e-9);
}

TEST(ImportanceTest, WhatMattersOnlyTogetherHasATotalAndNoMain) {
  const Space space({2, 2, 5});
  const Importance result =
      space.importance_of([](const auto& v) { return v[0] == v[1] ? 0.0 : 1.0; });
  for (const std::size_t parameter : {0u, 1u}) {
    EXPECT_EQ(of(result, parameter).main, 0);
    EXPECT_NEAR(of(result, parameter).total.value(), 1, 1e-9);
  }
  EXPECT_NEAR(of(result, 2).total.value(), 0, 1e-9);
  ASSERT_FALSE(result.designs[0].interactions.empty());
  EXPECT_NEAR(result.designs[0].interactions[0].share, 1, 1e-9);
}

TEST(ImportanceTest, AThirdOfTheSpaceSaysNearlyTheSame) {
  const Space space({4, 4, 4, 4});
  const auto log_time = [](const auto& v) { return 0.5 * v[0] + 0.3 * v[1] * v[2] / 3.0; };
  const Importance whole = space.importance_of(log_time);
  std::mt19937 random(7);
  std::vector<bool> kept(256);
  for (std::size_t row = 0; row < kept.size(); ++row) kept[row] = random() % 3 == 0;
  const Importance part = space.importance_of(log_time, [&](std::size_t row) { return kept[row]; });
  for (const std::size_t parameter : {0u, 1u, 2u, 3u}) {
    EXPECT_NEAR(of(part, parameter).total.value_or(-1), of(whole, parameter).total.value(), 0.12);
    EXPECT_NEAR(of(part, parameter).main, of(whole, parameter).main, 0.12);
  }
}

TEST(ImportanceTest, NoiseHasNoMainEffect) {
  const Space space({8, 8, 8});
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  const Importance result = space.importance_of([&](const auto&) { return noise(random); });
  for (const ParameterImportance& one : result.designs[0].parameters) EXPECT_LT(one.main, 0.03);
}

TEST(ImportanceTest, SaysNothingOfTooFewVariantsOrOfNoDifference) {
  EXPECT_THAT(Space({3, 3}).importance_of([](const auto& v) { return 1.0 * v[0]; }).designs,
              IsEmpty());
  EXPECT_THAT(Space({4, 4}).importance_of([](const auto&) { return 1.0; }).designs, IsEmpty());
  const Importance result = Space({4, 4}).importance_of([](const auto& v) { return 1.0 * v[0]; },
                                                        [](std::size_t row) { return row < 12; });
  EXPECT_EQ(result.variants, 12) << "without those that have no time";
  EXPECT_FALSE(result.design_share) << "one design is no choice";
}

TEST(ImportanceTest, TheChoiceOfTheDesignHasAShareOfItsOwn) {
  Space space({2, 10});
  space.columns.designs.push_back({"other", {}});
  for (std::size_t row = 0; row < 20; ++row) {
    space.columns.design[row] = space.columns.parameters[0].index[row];
  }
  const Importance result = space.importance_of([](const auto& v) { return 2.0 * v[0]; });
  EXPECT_NEAR(result.design_share.value(), 1, 1e-9);
}

TEST(ImportanceTest, AHundredThousandVariantsTakeSeconds) {
  const Space space({10, 10, 10, 10, 10, 1});
  const std::clock_t start = std::clock();
  const Importance result =
      space.importance_of([](const auto& v) { return 0.1 * v[0] * v[1] + 0.05 * v[2]; });
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(result.variants, 100'000);
  EXPECT_LT(seconds, 20);
  RecordProperty("seconds", std::to_string(seconds));
}

}  // namespace
}  // namespace mgtune
