#include "json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mgtune {
namespace {

using Library = nlohmann::ordered_json;

TEST(Json, EveryKindOfValueIsWritten) {
  const Json json = {{"null", nullptr},
                     {"boolean", true},
                     {"negative", -5},
                     {"large", std::numeric_limits<std::uint64_t>::max()},
                     {"number", 2.5},
                     {"text", "a word"},
                     {"view", std::string_view("view")},
                     {"list", std::vector<int>{1, 2}},
                     {"lists", std::vector<std::vector<double>>{{0.5}, {}}},
                     {"some", std::optional<double>(1.5)},
                     {"none", std::optional<double>()},
                     {"object", {{"inner", "text"}}},
                     {"empty", Json::object()}};
  EXPECT_EQ(json.compact_text(),
            R"({"null":null,"boolean":true,"negative":-5,"large":18446744073709551615,)"
            R"("number":2.5,"text":"a word","view":"view","list":[1,2],"lists":[[0.5],[]],)"
            R"("some":1.5,"none":null,"object":{"inner":"text"},"empty":{}})");
}

TEST(Json, MembersKeepTheirOrderAndAreSetOnce) {
  Json json = Json::object();
  json["b"] = 1;
  json["a"] = 2;
  json["b"] = "again";
  json.update({{"a", 3}, {"c", 4}});
  EXPECT_EQ(json.compact_text(), R"({"b":"again","a":3,"c":4})");
}

TEST(Json, ArraysGrow) {
  Json json = Json::array();
  EXPECT_EQ(json.compact_text(), "[]");
  json.push_back({{"a", 1}});
  json.back()["b"] = Json::Array{2, "three"};
  EXPECT_EQ(json.compact_text(), R"([{"a":1,"b":[2,"three"]}])");
  const auto doubled = [](int number) { return 2 * number; };
  EXPECT_EQ(Json::array(std::vector{1, 2}, doubled).compact_text(), "[2,4]");
}

TEST(Json, LayoutsDifferInWhiteSpaceAlone) {
  const Json json = {{"a", 1}, {"b", Json::Array{2, 3}}, {"c", Json::array()}};
  EXPECT_EQ(json.compact_text(), R"({"a":1,"b":[2,3],"c":[]})");
  EXPECT_EQ(json.line_text(), R"({"a": 1, "b": [2, 3], "c": []})");
  EXPECT_EQ(json.document_text(),
            "{\n  \"a\": 1,\n  \"b\": [\n    2,\n    3\n  ],\n  \"c\": []\n}\n");
  EXPECT_EQ(json.document_text(), Library::parse(json.compact_text()).dump(2) + "\n");
}

TEST(Json, NumbersAreAsShortAsTheyCanBeAndComeBack) {
  EXPECT_EQ(Json(0.1).compact_text(), "0.1");
  EXPECT_EQ(Json(3.0).compact_text(), "3.0");
  EXPECT_EQ(Json(1e300).compact_text(), "1e+300");
  EXPECT_EQ(Json(1e-7).compact_text(), "1e-07");
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> numbers(0, 20);
  for (int i = 0; i < 10'000; ++i) {
    const double number = numbers(random);
    ASSERT_EQ(std::stod(Json(number).compact_text()), number);
  }
}

TEST(Json, NumbersThatAreNotFiniteAreNull) {
  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(Json(number).compact_text(), "null");
  }
}

TEST(Json, TextIsEscaped) {
  EXPECT_EQ(Json("say \"a\\b\"\n\t\x01").compact_text(), R"("say \"a\\b\"\n\t\u0001")");
  EXPECT_EQ(Json(std::string("a\0b", 3)).compact_text(), R"("a\u0000b")");
  EXPECT_EQ(Json("caf\xc3\xa9").compact_text(), "\"caf\xc3\xa9\"");
  EXPECT_EQ(Json({{"a\"b", 1}}).compact_text(), R"({"a\"b":1})");
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Json("caf\xe9 \xff!").compact_text(), "\"caf\xef\xbf\xbd \xef\xbf\xbd!\"");
}

}  // namespace
}  // namespace mgtune
