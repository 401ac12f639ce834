#include "search/posterior.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/helpers/synthetic_set.h"

namespace mgtune {
namespace {

const std::vector<Coordinate> kTwo = {{"a", 0.1F, 1.0F}, {"b", 0.1F, 1.0F}};

CovarianceKernel kernel() {
  CovarianceKernel kernel(2);
  kernel.log_noise = std::log(1e-3);
  return kernel;
}

Target known(double value) { return {Target::Kind::known, value}; }
Target at_least(double value) { return {Target::Kind::at_least, value}; }

TEST(PosteriorTest, BelievesWhatItWasToldAndDoubtsTheRest) {
  Posterior posterior(kTwo, kernel());
  posterior.add_candidates(std::vector<EncodedPoint>{{0, 0}, {0.1F, 0}, {1, 1}});
  posterior.observe({0, 0});
  posterior.condition(std::vector<Target>{known(2)});
  EXPECT_NEAR(posterior.mean(0), 2, 0.01);
  EXPECT_LT(posterior.mean(1), posterior.mean(0));
  EXPECT_LT(posterior.mean(2), posterior.mean(1));
  EXPECT_LT(posterior.deviation(0), posterior.deviation(1));
  EXPECT_LT(posterior.deviation(1), posterior.deviation(2));
}

TEST(PosteriorTest, TheOrderOfCandidatesAndObservationsDoesNotMatter) {
  const std::vector<EncodedPoint> points = {{0, 0}, {0.5F, 1}, {1, 0.2F}};
  const std::vector<EncodedPoint> candidates = {{0.3F, 0.3F}, {0.9F, 0.9F}};
  Posterior late(kTwo, kernel()), early(kTwo, kernel());
  early.add_candidates(candidates);
  for (const EncodedPoint& point : points) {
    late.observe(point);
    early.observe(point);
  }
  late.add_candidates(std::vector<EncodedPoint>{candidates[0]});
  late.add_candidates(std::vector<EncodedPoint>{candidates[1]});
  const std::vector<Target> targets = {known(1), known(-1), known(0.5)};
  late.condition(targets);
  early.condition(targets);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_NEAR(late.mean(i), early.mean(i), 1e-4);
    EXPECT_NEAR(late.deviation(i), early.deviation(i), 1e-4);
  }
}

TEST(PosteriorTest, WhatIsPendingMakesSureOfItsSurroundingsAndMovesNothing) {
  Posterior without(kTwo, kernel()), with(kTwo, kernel());
  for (Posterior* posterior : {&without, &with}) {
    posterior->add_candidates(std::vector<EncodedPoint>{{0.5F, 0.5F}});
    posterior->observe({0, 0});
  }
  with.observe({0.5F, 0.4F});
  without.condition(std::vector<Target>{known(1)});
  with.condition(std::vector<Target>{known(1), Target{}});
  EXPECT_NEAR(with.mean(0), without.mean(0), 1e-5);
  EXPECT_LT(with.deviation(0), without.deviation(0));
}

TEST(PosteriorTest, ABoundCountsOnlyWhereItSaysMoreThanTheRest) {
  const auto mean_with = [](const Target& second) {
    Posterior posterior(kTwo, kernel());
    posterior.add_candidates(std::vector<EncodedPoint>{{0.2F, 0}});
    posterior.observe({0, 0});
    posterior.observe({0.1F, 0});
    posterior.condition(std::vector<Target>{known(1), second});
    return posterior.mean(0);
  };
  EXPECT_NEAR(mean_with(at_least(-3)), mean_with(Target{}), 1e-5);
  EXPECT_NEAR(mean_with(at_least(3)), mean_with(known(3)), 1e-5);
}

TEST(KernelTest, FittingFindsWhichParameterMatters) {
  PointTable points(2);
  std::vector<double> values;
  RandomStream random(1);
  for (int i = 0; i < 40; ++i) {
    const auto a = static_cast<float>(random.uniform()), b = static_cast<float>(random.uniform());
    points.add({a, b});
    values.push_back(1.4 * std::sin(6 * a));
  }
  CovarianceKernel fitted(2);
  const double before = kernel_cost(kTwo, fitted, points, values);
  fit_kernel(kTwo, points, values, random, fitted);
  EXPECT_LT(kernel_cost(kTwo, fitted, points, values), before);
  EXPECT_GT(fitted.log_lengths[1], fitted.log_lengths[0] + 1);
}

TEST(EncodingTest, DesignsShareTheParametersThatTheyNameAlike) {
  const SyntheticSet set(
      {{{"THREADS", {128, 32, 64}, true}, {"ONE", {4}, true}},
       {{"THREADS", {64, 256}, true}, {"ONE", {4}, true}, {"LOAD", {9, 5}, false}}});
  const MixedEncoding encoding(set);
  ASSERT_EQ(encoding.coordinates().size(), 3U);  // design, LOAD, THREADS; ONE never changes
  EXPECT_EQ(encoding.coordinates()[1].name, "LOAD");
  EXPECT_EQ(encoding.coordinates()[1].slope, 0);
  const EncodedPoint row = encoding.encode({0, {64, 4}}), deep = encoding.encode({1, {64, 4, 5}});
  EXPECT_NE(row[0], deep[0]);
  EXPECT_NE(row[1], deep[1]);  // it has none
  EXPECT_EQ(row[2], deep[2]);
  EXPECT_NEAR(row[2], 1.0 / 3, 1e-6);
  EXPECT_EQ(encoding.encode({0, {32, 4}})[2], 0);
  EXPECT_EQ(encoding.encode({1, {256, 4, 9}})[2], 1);
}

ParameterAxis axis_of(const std::string& name, const std::vector<std::int64_t>& numbers) {
  return {name, numbers, true, numbers};
}

TEST(EncodingTest, NumbersThatAreNotPowersOfTwoAlsoSayHowOftenTwoDividesThem) {
  const SyntheticSet set({{axis_of("BLOCK", {16, 32, 48, 64, 80}), axis_of("TILE", {1, 2, 4, 8}),
                           axis_of("SPLIT", {0, 1, 2}), axis_of("ODD", {1, 3, 5}),
                           axis_of("SWITCH", {0, 3}), ParameterAxis{"PLACE", {0, 1, 2, 3}}}});
  const MixedEncoding encoding(set);
  ASSERT_EQ(encoding.coordinates().size(), 7U);
  EXPECT_EQ(encoding.coordinates()[1].name, "BLOCK, factors of two");
  EXPECT_EQ(encoding.coordinates()[1].step, encoding.coordinates()[0].step);
  std::vector<float> blocks, twos;
  for (const std::int64_t block : {16, 32, 48, 64, 80}) {
    const EncodedPoint point = encoding.encode({0, {block, 1, 0, 1, 0, 0}});
    blocks.push_back(point[0]);
    twos.push_back(point[1]);
  }
  EXPECT_EQ(blocks, (std::vector<float>{0, 0.25F, 0.5F, 0.75F, 1}));
  EXPECT_EQ(twos, (std::vector<float>{0, 0.5F, 0, 1, 0}));
}

TEST(EncodingTest, ADesignWithoutTheParameterIsFarFromAllOfItsCoordinates) {
  const SyntheticSet set({{axis_of("BLOCK", {32, 48, 64})},
                          {axis_of("BLOCK", {32, 96, 128}), axis_of("TILE", {1, 2, 3})}});
  const MixedEncoding encoding(set);
  ASSERT_EQ(encoding.coordinates().size(), 5U);  // the design, two of BLOCK, two of TILE
  const EncodedPoint small = encoding.encode({0, {48}}), large = encoding.encode({1, {48, 2}});
  EXPECT_EQ(small[2], large[2]);
  EXPECT_LE(small[3], -1);
  EXPECT_LE(small[4], -1);
}

}  // namespace
}  // namespace mgtune
