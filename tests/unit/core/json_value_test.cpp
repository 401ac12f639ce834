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

}  // namespace
}  // namespace mgtune
