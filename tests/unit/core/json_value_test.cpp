#include "json/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mgtune {
namespace {

TEST(JsonValueTest, WhatIsNotWantedIsLeftOutAtAnyDepth) {
  const auto wanted = [](std::string_view key) { return key != "times"; };
  const Result<JsonValue> value = parse_json(
      R"({"times": [1, {"a": [2]}], "b": {"times": 3, "c": 4}, "d": [{"times": {}}]})", wanted);
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(canonical_json(*value), R"({"b":{"c":4},"d":[{}]})");
  EXPECT_FALSE(parse_json(R"({"times": [1, })", wanted).ok());
}

TEST(JsonValueTest, NumbersThatAreNotWantedMayBeTooLarge) {
  const auto wanted = [](std::string_view key) { return key != "stamp"; };
  const std::string large = "18446744073709551616";
  for (const std::string& text :
       {"{\"stamp\": " + large + ", \"a\": 1}", "{\"stamp\": [" + large + "], \"a\": 1}",
        std::string("{\"stamp\": {\"b\": {\"c\": [1, 9223372036854775808]}}, \"a\": 1}")}) {
    const Result<JsonValue> value = parse_json(text, wanted);
    ASSERT_TRUE(value.ok()) << text << ": " << value.status().message();
    EXPECT_EQ(canonical_json(*value), R"({"a":1})");
    EXPECT_THAT(parse_json(text).status().message(), ::testing::HasSubstr("does not fit")) << text;
  }
}

TEST(JsonValueTest, DuplicatesAmongManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 30000; ++i) text += "\"key " + std::to_string(i) + "\": 1, ";
  EXPECT_EQ(parse_json(text + "\"last\": 2}").value().keys.size(), 30001U);
  for (const char* key : {"key 0", "key 31", "key 32", "key 29999"}) {
    const Result<JsonValue> value = parse_json(text + "\"" + key + "\": 2}");
    ASSERT_FALSE(value.ok()) << key;
    EXPECT_THAT(value.status().message(), ::testing::HasSubstr("duplicate key"));
  }
  // Each object has keys of its own.
  EXPECT_TRUE(parse_json("[" + text + "\"x\": 1}, " + text + "\"x\": 1}]").ok());
}

// `value` and the members' order after a merge patch.
std::string merged(const std::string& value, const std::string& patch) {
  JsonValue result = parse_json(value).value();
  merge_json(result, parse_json(patch).value());
  std::string text = canonical_json(result);
  for (const std::string& key : result.keys) text += " " + key;
  return text;
}

TEST(JsonValueTest, MergesAPatch) {
  const struct {
    const char *value, *patch, *result;
  } cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"} a)"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"} a b)"},
      {R"({"a":"b"})", R"({"a":null})", "{}"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"} b)"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"} a)"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]} a)"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}} a)"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]} a)"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"e":null})", R"({"a":1})", R"({"a":1,"e":null} e a)"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"} a)"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}} a)"},
      // Where members stand: known ones in their places, new ones after the patch's previous one.
      {R"({"x":1,"y":2})", R"({"y":3,"x":4})", R"({"x":4,"y":3} x y)"},
      {R"({"x":1,"y":2})", R"({"a":3,"b":4})", R"({"a":3,"b":4,"x":1,"y":2} x y a b)"},
      {R"({"x":{},"y":2})", R"({"x":{},"a":3,"b":4})", R"({"a":3,"b":4,"x":{},"y":2} x a b y)"},
      {R"({"x":1,"y":2})", R"({"x":null,"a":3})", R"({"a":3,"y":2} a y)"},
      {R"({"x":1,"y":2,"z":3})", R"({"y":null,"n":null,"x":null,"a":4})", R"({"a":4,"z":3} a z)"},
  };
  for (const auto& each : cases) EXPECT_EQ(merged(each.value, each.patch), each.result);
}

}  // namespace
}  // namespace mgtune
