#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/simulated_space.h"
#include "space/space.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

class SweptSpaceTest : public ::testing::Test {
 protected:
  // Every variant of the problem, those of the later rows slower.
  SweptSpaceTest() {
    double median_ns = 1000;
    for (const Variant& variant : all_variants(Space(problem_, kH200))) {
      OutcomeView row;
      row.variant = variant_text(op_, variant);
      row.measurement = MeasurementRecord();
      row.measurement->median_ns = median_ns;
      median_ns += 100;
      rows_.push_back(std::move(row));
    }
  }

  Variant at(std::size_t row) const { return must(parse_variant(op_, rows_[row].variant)); }

  Result<SimulatedSpace> make() const { return swept_space("swept", problem_, kH200, rows_); }

  const Operator op_ = toy_norm();
  const Problem problem_ = must(bind_problem(op_, {{"rows", "8"}, {"hidden", "64"}, {"T", "f32"}}));
  std::vector<OutcomeView> rows_;
};

TEST_F(SweptSpaceTest, KnowsTheTimeOfEveryVariant) {
  rows_[1].outcome = Outcome::raced_out;
  rows_[2].outcome = Outcome::wrong;
  rows_[3].outcome = Outcome::compile_failed;
  rows_[3].measurement.reset();
  const SimulatedSpace swept = must(make());
  EXPECT_EQ(swept.set->size(), 12U);
  EXPECT_EQ(swept.time_of(at(0)), 1000);
  EXPECT_EQ(swept.time_of(at(1)), 1100) << "raced out is slow, not failed";
  EXPECT_EQ(swept.time_of(at(2)), 0);
  EXPECT_EQ(swept.time_of(at(3)), 0);
  EXPECT_EQ(swept.times.size(), 12U);
  EXPECT_EQ(swept.set->ladder().size(), 3U) << "the operator's own";
}

TEST_F(SweptSpaceTest, WhatIsNotInTheSpaceDoesNotCount) {
  rows_.push_back(rows_[0]);
  rows_.back().variant = "row THREADS=99 VEC=4";
  rows_.push_back(rows_[0]);
  rows_.back().variant = "column THREADS=32";
  EXPECT_EQ(must(make()).times.size(), 12U);
}

TEST_F(SweptSpaceTest, ASweepThatLeftVariantsOutIsNoSpace) {
  rows_.resize(9);
  const Result<SimulatedSpace> swept = make();
  ASSERT_FALSE(swept.ok());
  EXPECT_EQ(swept.status().code(), StatusCode::corrupt);
  EXPECT_EQ(swept.status().message(),
            "9 of its 12 variants were visited; sweep it with --strategy exhaustive");
}

TEST_F(SweptSpaceTest, NeitherIsOneInWhichNothingPassed) {
  for (OutcomeView& row : rows_) row.outcome = Outcome::crashed;
  EXPECT_EQ(make().status().message(), "none of its variants passed");
}

}  // namespace
}  // namespace mgtune
