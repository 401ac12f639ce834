#include "core/variant_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "json/json.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(VariantWords, AreTheInverseOfTheirText) {
  const VariantWords words = split_variant("row VEC=8 LOAD=bulk ASYNC=true");
  EXPECT_EQ(words.design, "row");
  ASSERT_EQ(words.parameters.size(), 3U);
  EXPECT_EQ(*words.find("LOAD"), "bulk");
  EXPECT_EQ(words.find("X"), nullptr);
  EXPECT_EQ(words.text(), "row VEC=8 LOAD=bulk ASYNC=true");
  EXPECT_EQ(split_variant("alone").text(), "alone");
  EXPECT_EQ(split_variant("").text(), "");
}

TEST(VariantWords, OrderAndPython) {
  std::vector<std::string> values = {"plain", "true", "128", "bulk", "-4", "false", "32"};
  std::ranges::sort(values, is_value_before);
  EXPECT_THAT(values, ElementsAre("-4", "32", "128", "false", "true", "bulk", "plain"));
  EXPECT_EQ(python_text("true"), "True");
  EXPECT_EQ(python_text("false"), "False");
  EXPECT_EQ(python_text("-4"), "-4");
  EXPECT_EQ(python_text("bulk"), "bulk");
}

TEST(VariantWords, OtherTextsAreADesignAsAWhole) {
  for (const std::string text : {"row  VEC=8", "row VEC=8 ", "a b", "row VEC=1 VEC=2", "row =1"}) {
    const VariantWords words = split_variant(text);
    EXPECT_EQ(words.design, text);
    EXPECT_TRUE(words.parameters.empty()) << text;
  }
  EXPECT_EQ(split_variant("row PDL=x=y").parameters.front().second, "x=y");
}

TEST(VariantWords, FloatingNumbersHaveOneText) {
  EXPECT_EQ(real_text(0.5), "0.5");
  EXPECT_EQ(real_text(2), "2.0");
  EXPECT_EQ(real_text(-0.0), "0.0");
  EXPECT_EQ(real_text(1e-5), "1e-05");
  EXPECT_EQ(real_text(0.1), "0.1");
  for (const double value : {0.5, -2.0, 1e-5, 1e20, 1.0 / 3}) {
    EXPECT_TRUE(is_real_text(real_text(value))) << value;
    EXPECT_TRUE(is_value_word(real_text(value))) << value;
  }
  for (const char* word : {"2", "0.50", ".5", "1e-5", "inf", "nan", "abc", ""}) {
    EXPECT_FALSE(is_real_text(word)) << word;
  }
}

TEST(VariantWords, ValuesAreWordsWithoutBlanks) {
  for (const char* word : {"float4", "a-b", "std::less<>", "const_float*", "4096", "1e+20"}) {
    EXPECT_TRUE(is_value_word(word)) << word;
  }
  for (const char* word : {"", "a b", "a=b", "a,b", "a\"b", "a/b", "\xc3\xa9"}) {
    EXPECT_FALSE(is_value_word(word)) << word;
  }
  EXPECT_FALSE(is_value_word(std::string(65, 'a')));
}

TEST(VariantWords, FloatingNumbersAreOrdered) {
  EXPECT_TRUE(is_value_before("2.0", "10.5"));
  EXPECT_TRUE(is_value_before("-1.0", "0.5"));
  EXPECT_TRUE(is_value_before("7", "0.5"));
  EXPECT_TRUE(is_value_before("0.5", "false"));
}

TEST(VariantWords, AssignmentsOfAProblem) {
  EXPECT_THAT(assignments("rows=4096 odd T=bf16"),
              ElementsAre(Pair("rows", "4096"), Pair("T", "bf16")));
  EXPECT_TRUE(assignments("").empty());
}

TEST(VariantWords, OnlyWordsThatComeBackAreNumbers) {
  EXPECT_EQ(whole_number("-4"), -4);
  for (const char* word : {"", "007", "4.5", "4x", "99999999999999999999"}) {
    EXPECT_FALSE(whole_number(word).has_value()) << word;
  }
  EXPECT_EQ(Json::of_word("4096").compact_text(), "4096");
  EXPECT_EQ(Json::of_word("true").compact_text(), "true");
  EXPECT_EQ(Json::of_word("007").compact_text(), "\"007\"");
}

}  // namespace
}  // namespace mgtune
