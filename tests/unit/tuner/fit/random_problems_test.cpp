// Problems for rules: in their ranges, the same for the same seed, and none that the operator
// refuses.

#include "plan/random_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

std::vector<std::string> texts_of(const std::vector<Problem>& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(problem.text());
  return texts;
}

TEST(RandomProblems, AreInTheirRangesAndTheSameForASeed) {
  const Operator op = toy_norm();
  // Of the operator's own problems: 4096 x 1024, which is the largest.
  const RandomProblems wanted{50, "rows=16:4096,hidden=64:1024:64", {DType::bf16}, 7};
  const std::vector<Problem> drawn = must(draw_problems(op, wanted, DeviceKind::cuda));
  ASSERT_EQ(drawn.size(), 50U);
  std::int64_t few = 0;
  for (const Problem& problem : drawn) {
    EXPECT_GE(problem.dim("rows"), 16);
    EXPECT_LE(problem.dim("rows"), 4096);
    EXPECT_EQ(problem.dim("hidden") % 64, 0);
    EXPECT_THAT(problem.text(), HasSubstr("T=bf16"));
    few += problem.dim("rows") < 256 ? 1 : 0;
  }
  EXPECT_GT(few, 15) << "the logarithm is uniform";
  EXPECT_LT(few, 35);
  EXPECT_EQ(texts_of(must(draw_problems(op, wanted, DeviceKind::cuda))), texts_of(drawn));
  RandomProblems other = wanted;
  other.seed = 8;
  EXPECT_NE(texts_of(must(draw_problems(op, other, DeviceKind::cuda))), texts_of(drawn));
}

TEST(RandomProblems, ChosenOnesKeepTheirOrderAndAreTheSameForASeed) {
  const Operator op = toy_norm();
  const RandomProblems wanted{40, "rows=16:4096,hidden=64:1024:64", {DType::bf16}, 7};
  const std::vector<Problem> given = must(draw_problems(op, wanted, DeviceKind::cuda));
  const std::vector<std::string> all = texts_of(given);
  const std::vector<std::string> some = texts_of(choose_problems(given, 10, 1));
  ASSERT_EQ(some.size(), 10U);
  std::vector<std::string> in_order;
  std::ranges::copy_if(all, std::back_inserter(in_order), [&](const std::string& text) {
    return std::ranges::find(some, text) != some.end();
  });
  EXPECT_EQ(some, in_order);
  EXPECT_EQ(texts_of(choose_problems(given, 10, 1)), some);
  EXPECT_NE(texts_of(choose_problems(given, 10, 2)), some);
  EXPECT_EQ(texts_of(choose_problems(given, 40, 1)), all);
  EXPECT_EQ(texts_of(choose_problems(given, 1000, 1)), all);
}

TEST(RandomProblems, AreChosenForEachOperator) {
  const Operator op = toy_norm(), other = toy_norm();
  const RandomProblems wanted{9, "rows=16:4096,hidden=64:1024:64", {DType::bf16}, 7};
  std::vector<Problem> given = must(draw_problems(op, wanted, DeviceKind::cuda));
  std::ranges::move(
      must(draw_problems(other, {3, wanted.ranges, wanted.dtypes, 7}, DeviceKind::cuda)),
      std::back_inserter(given));
  std::vector<const Operator*> operators;
  for (const Problem& problem : choose_problems(given, 4, 1)) operators.push_back(problem.op);
  EXPECT_EQ(operators, (std::vector<const Operator*>{&op, &op, &op, &op, &other, &other, &other}));
}

TEST(RandomProblems, WrongWordsAreRefused) {
  const Operator op = toy_norm();
  const auto message = [&](const std::string& ranges, std::size_t count = 3) {
    return draw_problems(op, {count, ranges, {}, 1}, DeviceKind::cuda).status().message();
  };
  EXPECT_THAT(message("rwos=1:8"), HasSubstr("did you mean 'rows'?"));
  EXPECT_THAT(message("rows=8:1"), HasSubstr("expected LOW:HIGH"));
  EXPECT_THAT(message("rows=8"), HasSubstr("for example rows=1:65536"));
  EXPECT_THAT(message("rows=1:2,hidden=64:64", 9), HasSubstr("only 4 different problems"));
}

TEST(RandomProblems, LikeOthersLieBetweenThemAndAreNone) {
  const Operator op = toy_norm();
  const RandomProblems wanted{6, "rows=16:4096,hidden=128:1024:128", {DType::bf16}, 7};
  const std::vector<Problem> examples = must(draw_problems(op, wanted, DeviceKind::cuda));
  const std::vector<Problem> drawn = draw_problems_like(examples, 20, 1);
  ASSERT_EQ(drawn.size(), 20U);
  std::vector<std::int64_t> rows, hidden;
  for (const Problem& example : examples) {
    rows.push_back(example.dim("rows"));
    hidden.push_back(example.dim("hidden"));
  }
  const std::vector<std::string> known = texts_of(examples);
  for (const Problem& problem : drawn) {
    EXPECT_GE(problem.dim("rows"), *std::ranges::min_element(rows));
    EXPECT_LE(problem.dim("rows"), *std::ranges::max_element(rows));
    EXPECT_LE(problem.dim("hidden"), *std::ranges::max_element(hidden));
    EXPECT_EQ(problem.dim("hidden") % 64, 0);
    EXPECT_THAT(known, Not(testing::Contains(problem.text())));
    EXPECT_THAT(problem.text(), HasSubstr("T=bf16"));
  }
  // There are no others than the examples.
  EXPECT_TRUE(draw_problems_like({examples.front()}, 5, 1).empty());
}

}  // namespace
}  // namespace mgtune
