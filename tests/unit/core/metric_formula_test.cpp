#include "expression/metric_formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace mgtune {
namespace {

using ::testing::HasSubstr;

std::optional<double> computed(const std::string& text) {
  const std::map<std::string, double, std::less<>> values = {
      {"rows", 3}, {"ns", 8}, {"sizeof(T)", 2}, {"has(x)", 1}};
  const Result<MetricFormula> formula = MetricFormula::parse(text);
  EXPECT_TRUE(formula.ok()) << formula.status().message();
  if (!formula.ok()) return std::nullopt;
  return formula->evaluate([&](std::string_view name) -> std::optional<double> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string mistake(const std::string& text) {
  return std::string(MetricFormula::parse(text).status().message());
}

TEST(MetricFormulaTest, ComputesWithFloatingNumbersAndThePrecedencesOfC) {
  EXPECT_EQ(computed("rows / ns"), 0.375) << "an integer division would be 0";
  EXPECT_EQ(computed("1 + 2 * 3 - 4 / 8"), 6.5);
  EXPECT_EQ(computed("8 / 4 / 2"), 1) << "from the left";
  EXPECT_EQ(computed("10 - 4 - 3"), 3);
  EXPECT_EQ(computed("-(rows - 5) * 2"), 4);
  EXPECT_EQ(computed("2 * rows * sizeof( T ) * has(x) / 1e3"), 0.012);
  EXPECT_EQ(computed("min(rows, 5, 2) + max(rows, 7)"), 9);
  EXPECT_EQ(computed("1e30"), 1e30);
}

TEST(MetricFormulaTest, NoValueWhereANameHasNoneOrTheResultIsNotFinite) {
  EXPECT_EQ(computed("rows / unknown"), std::nullopt);
  EXPECT_EQ(computed("1 / (rows - 3)"), std::nullopt);
  EXPECT_EQ(computed("1e300 * 1e300"), std::nullopt);
}

TEST(MetricFormulaTest, MistakesHaveACaret) {
  EXPECT_EQ(mistake("rows + * 2"), "expected a value, got '*'\n  rows + * 2\n         ^");
  EXPECT_THAT(mistake(""), HasSubstr("an empty formula"));
  EXPECT_THAT(mistake("rows +"), HasSubstr("expected a value, got the end of the formula"));
  EXPECT_THAT(mistake("(rows"), HasSubstr("expected ')', got the end of the formula"));
  EXPECT_THAT(mistake("rows ns"), HasSubstr("unexpected 'ns'"));
  EXPECT_THAT(mistake("rows == 2"), HasSubstr("unexpected '=='"));
  EXPECT_THAT(mistake("mim(rows, 2)"), HasSubstr("did you mean 'min'?"));
  EXPECT_THAT(mistake("min(rows)"), HasSubstr("min needs two values"));
  EXPECT_THAT(mistake("1e999"), HasSubstr("too large"));
  EXPECT_THAT(mistake(std::string(1000, '(') + "1"), HasSubstr("nested too deeply"));
  EXPECT_THAT(mistake(std::string(1000, '-') + "1"), HasSubstr("nested too deeply"));
}

TEST(MetricFormulaTest, NamesCanBeRefused) {
  const Status status = MetricFormula::parse("2 * rows / ms", [](std::string_view name) {
                          return name == "ms" ? std::string("unknown name 'ms'") : std::string();
                        }).status();
  EXPECT_EQ(status.message(), "unknown name 'ms'\n  2 * rows / ms\n             ^~");
}

TEST(MetricFormulaTest, KnownNamesBecomeNumbers) {
  const MetricFormula formula =
      *MetricFormula::parse("2 * rows * sizeof(T) / (THREADS * ns) - shift");
  const std::string text = formula.with_values([](std::string_view name) -> std::optional<double> {
    if (name == "rows") return 4096;
    if (name == "sizeof(T)") return 2;
    if (name == "shift") return -0.5;
    return std::nullopt;
  });
  EXPECT_EQ(text, "2 * 4096 * 2 / (THREADS * ns) - (-0.5)");
  const VariantWords variant = split_variant("row THREADS=256 LOAD=bulk FAST=true SCALE=0.5");
  EXPECT_EQ(MetricFormula::parse(text)->evaluate(variant, 4), 16.5);
  EXPECT_EQ(MetricFormula::parse("FAST + SCALE")->evaluate(variant, 4), 1.5);
  EXPECT_EQ(MetricFormula::parse("LOAD * 2")->evaluate(variant, 4), std::nullopt) << "a word";
  EXPECT_EQ(MetricFormula::parse("VEC * 2")->evaluate(variant, 4), std::nullopt);
}

}  // namespace
}  // namespace mgtune
