#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/sweep_plan.h"

namespace mgtune {
namespace {

TEST(ParseBudget, ANumberIsEvaluationsOfEachProblem) {
  const Result<Budget> budget = parse_budget("500");
  ASSERT_TRUE(budget.ok());
  EXPECT_EQ(budget->evaluations, 500);
  EXPECT_FALSE(budget->seconds.has_value());
  EXPECT_EQ(budget->text, "500");
}

TEST(ParseBudget, AUnitMakesItATime) {
  EXPECT_EQ(parse_budget("60s")->seconds, 60);
  EXPECT_EQ(parse_budget("5m")->seconds, 300);
  EXPECT_EQ(parse_budget("1h")->seconds, 3600);
  EXPECT_EQ(parse_budget("0.5s")->seconds, 0.5);
  EXPECT_EQ(parse_budget("1.5m")->seconds, 90);
  EXPECT_FALSE(parse_budget("60s")->evaluations.has_value());
}

TEST(ParseBudget, RefusesEverythingElse) {
  for (const char* text : {"", "0", "-1", "0s", "-5m", "many", "60 s", "60x", "1.5", "1e3s", "60ss",
                           "nan", "inf", "infs", "99999999999999999999", "0x10", "+5"}) {
    const Result<Budget> budget = parse_budget(text);
    ASSERT_FALSE(budget.ok()) << text;
    EXPECT_EQ(budget.status().code(), StatusCode::invalid_argument);
    EXPECT_THAT(budget.status().message(),
                ::testing::StartsWith("budget '" + std::string(text) + "': expected a number"));
  }
}

TEST(ParseBudget, NoClockRunsOver) {
  EXPECT_EQ(parse_budget("8760h")->seconds, 365.0 * 24 * 3600);
  for (const char* text : {"8761h", "99999999999999h", "31536001s", "1000000000000000000000s"}) {
    const Result<Budget> budget = parse_budget(text);
    ASSERT_FALSE(budget.ok()) << text;
    EXPECT_EQ(budget.status().code(), StatusCode::invalid_argument);
    EXPECT_THAT(budget.status().message(), ::testing::HasSubstr("within a year"));
  }
}

}  // namespace
}  // namespace mgtune
