// What a check says of values: right ones, wrong ones, strides, dtypes, optional outputs.

#include "tests/helpers/kernels/checker_fixture.h"
#include "tests/helpers/operators/in_place_family.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

TEST_F(CheckerTest, ARightVariantPasses) {
  bind(kSmall);
  const CheckRecord record = check("block BUG=none");
  EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  EXPECT_EQ(record.message, "");
  EXPECT_GT(record.error, 0);  // one rounding of the product
  EXPECT_LT(record.error, 1e-7);
  EXPECT_EQ(record.tolerance, 1e-6);
}

TEST_F(CheckerTest, StridesOptionalOutputsAndHalfPrecisionPass) {
  bind({{"rows", "3"},
        {"columns", "77"},
        {"x_stride", "80"},
        {"y_stride", "90"},
        {"T", "f16"},
        {"sum", "true"}});
  const CheckRecord record = check("block BUG=none");
  EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  EXPECT_GT(record.error, 1e-5);
  EXPECT_EQ(record.tolerance, 1e-3);
}

TEST_F(CheckerTest, AnEmptyProblemPasses) {
  bind({{"rows", "0"}, {"columns", "100"}, {"T", "f32"}});
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, WhatIsNotWrittenIsWrong) {
  bind(kSmall);
  expect_wrong("block BUG=silent", "y was never written: y[0, 0] is nan, the reference says ");
}

TEST_F(CheckerTest, ReadingTheOldOutputIsWrong) {
  bind(kSmall);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);  // leaves nothing to be read
  expect_wrong("block BUG=stale", "the reference says ");
}

TEST_F(CheckerTest, InfinityIsWrong) {
  bind(kSmall);
  expect_wrong("block BUG=infinite", "y[3, 1] is inf, the reference says ");
}

TEST_F(CheckerTest, OneWrongElementIsNamed) {
  bind(kSmall);
  expect_wrong("block BUG=last_element", "y[3, 99] is ");
}

TEST_F(CheckerTest, OneWrongElementWithinTheTensorsToleranceIsNamed) {
  bind({{"rows", "2000"}, {"columns", "128"}, {"T", "f16"}});
  expect_wrong("block BUG=last_element", "one element may be off by");
}

TEST_F(CheckerTest, EveryOutputIsCompared) {
  bind(kSummed);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
  expect_wrong("block BUG=wrong_sum", "sum[");
  bind(kSmall);
  EXPECT_EQ(check("block BUG=wrong_sum").outcome, Outcome::ok);  // nobody asked for the sum
}

TEST_F(CheckerTest, AConstraintOnTheDimsIsUnsupported) {
  bind(kSmall);
  const CheckRecord record = check("picky FLAG=0");
  EXPECT_EQ(record.outcome, Outcome::unsupported);
  EXPECT_THAT(record.message, HasSubstr("columns % 8 == 0"));
}

TEST_F(CheckerTest, LaunchArgumentsCanBeLaunchedAgainAndAgain) {
  bind(kSummed);
  ASSERT_EQ(check("block BUG=none").outcome, Outcome::ok);
  for (const std::int64_t sets : {1, 0}) {
    const auto arguments = launch_arguments(sets);
    ASSERT_TRUE(arguments.ok());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(loaded_->launch(arguments->front()).ok());
    const auto* const y = static_cast<const float*>(arguments->front().tensors[1]);
    const auto* const x = static_cast<const float*>(arguments->front().tensors[0]);
    EXPECT_EQ(y[17], 3.0F * x[17]);
  }
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, EverySetOfBuffersHasTheSameInputs) {
  bind(kSummed);
  ASSERT_EQ(check("block BUG=none").outcome, Outcome::ok);
  const auto arguments = launch_arguments(3);
  ASSERT_TRUE(arguments.ok());
  ASSERT_EQ(arguments->size(), 3U);
  const auto* const x = static_cast<const float*>((*arguments)[0].tensors[0]);
  for (std::size_t set = 1; set < 3; ++set) {
    const LaunchArguments& launch = (*arguments)[set];
    EXPECT_NE(launch.tensors[0], (*arguments)[set - 1].tensors[0]);
    ASSERT_TRUE(loaded_->launch(launch).ok());
    EXPECT_EQ(static_cast<const float*>(launch.tensors[1])[17], 3.0F * x[17]);
  }
  EXPECT_GT(checker_->set_bytes(), 0);
}

// A program has no guard bands; a problem that fills most of the memory has no room for tensors
// beside those of the check.
TEST_F(CheckerTest, OnlyWithoutSetsOfTheirOwnAreVariantsTimedOnTheChecksTensors) {
  bind(kSummed);
  ASSERT_EQ(check("block BUG=none").outcome, Outcome::ok);
  const auto x_of = [this](std::int64_t sets) {
    std::vector<const void*> addresses;
    const auto arguments = launch_arguments(sets);
    for (const LaunchArguments& launch : arguments.value()) addresses.push_back(launch.tensors[0]);
    return addresses;
  };
  const std::vector<const void*> checks = x_of(0);
  ASSERT_EQ(checks.size(), 1U);
  const std::vector<const void*> own = x_of(1);
  ASSERT_EQ(own.size(), 1U);
  EXPECT_NE(own, checks);
  EXPECT_THAT(x_of(2), ::testing::AllOf(::testing::Contains(own.front()),
                                        ::testing::Not(::testing::Contains(checks.front()))));
  EXPECT_EQ(x_of(1), own);
  EXPECT_EQ(x_of(0), checks);
}

TEST_F(CheckerTest, VariantsTimedInTurnShareBuffersAndNoWorkspace) {
  bind(kSmall);
  ASSERT_EQ(check("ticket LEFT=0").outcome, Outcome::ok);
  const std::vector<const LoadedVariant*> twice = {loaded_.get(), loaded_.get()};
  const auto arguments = checker_->launch_arguments(twice, 2);
  ASSERT_TRUE(arguments.ok());
  ASSERT_EQ(arguments->size(), 2U);
  for (std::size_t set = 0; set < 2; ++set) {
    const LaunchArguments& one = (*arguments)[0][set];
    const LaunchArguments& other = (*arguments)[1][set];
    EXPECT_EQ(one.tensors.data(), other.tensors.data());
    ASSERT_NE(one.workspace, nullptr);
    EXPECT_NE(one.workspace, other.workspace);
    EXPECT_TRUE(loaded_->launch(one).ok());
    EXPECT_TRUE(loaded_->launch(other).ok());
  }
}

TEST_F(CheckerTest, TheSeedsDiffer) {
  // Zero would pass any kernel that ignores its input.
  bind(kSmall);
  ASSERT_EQ(check("block BUG=none").outcome, Outcome::ok);
  const auto arguments = launch_arguments(1);
  const auto* const x = static_cast<const float*>(arguments->front().tensors[0]);
  double sum = 0, squares = 0;
  for (int i = 0; i < 400; ++i) {
    sum += x[i];
    squares += static_cast<double>(x[i]) * x[i];
  }
  EXPECT_NEAR(sum / 400, 0, 0.25);
  EXPECT_NEAR(squares / 400, 1, 0.35);
}

class InPlaceCheckerTest : public CheckerTest {
 protected:
  void SetUp() override {
    CheckerTest::SetUp();
    use("add", {{"add.json", kAddJson}, {"add.cu", kAddSource}, {"reference.cu", kAddReference}});
  }
};

TEST_F(InPlaceCheckerTest, InoutFlagsFillKernelsAndIntegersPass) {
  for (const char* twice : {"false", "true"}) {
    bind({{"count", "200"}, {"twice", twice}});
    const CheckRecord record = check("plain HITS=1");
    EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  }
}

TEST_F(InPlaceCheckerTest, IntegersAreComparedExactly) {
  bind({{"count", "200"}});
  expect_wrong("plain HITS=2", "hits[0] is 2, the reference says 1");
}

}  // namespace
}  // namespace mgtune
