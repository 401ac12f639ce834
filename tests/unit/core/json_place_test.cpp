// Lines and columns of values in JSON texts.

#include "json/json_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "json/json_value.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

constexpr std::string_view kText = R"({
  "a": "x, \" { [",
  "list": [1, {"b": [true, null]},
           -2.5e3],
  "c/d": {"e": {}}
})";

TEST(JsonPlaceTest, FindsTheValueAtAPointer) {
  EXPECT_EQ(place_in_json(kText, ""), "line 1, column 1");
  EXPECT_EQ(place_in_json(kText, "/a"), "line 2, column 8");
  EXPECT_EQ(place_in_json(kText, "/list"), "line 3, column 11");
  EXPECT_EQ(place_in_json(kText, "/list/1/b/1"), "line 3, column 28");
  EXPECT_EQ(place_in_json(kText, "/list/2"), "line 4, column 12");
  EXPECT_EQ(place_in_json(kText, "/c~1d/e"), "line 5, column 16");
}

TEST(JsonPlaceTest, OtherwiseTheInnermostValueAroundIt) {
  EXPECT_EQ(place_in_json(kText, "/list/7"), "line 3, column 11");
  EXPECT_EQ(place_in_json(kText, "/list/1/none/0"), "line 3, column 15");
  EXPECT_EQ(place_in_json(kText, "/none"), "line 1, column 1");
}

TEST(JsonPlaceTest, TextThatIsNoJsonDoesNoHarm) {
  const std::string text(kText);
  for (std::size_t size = 0; size < text.size(); ++size) {
    static_cast<void>(place_in_json(text.substr(0, size), "/list/1/b/1"));
    static_cast<void>(place_in_json(text.substr(size), "/c~1d/e"));
  }
  EXPECT_EQ(place_in_json("", "/a"), "");
}

TEST(JsonPlaceTest, ALineThatNamesAPointerGetsThePlaceAtItsEnd) {
  const TestFolder folder;
  const std::string file = folder.file("add.json");
  std::ofstream(file) << kText;
  FileSystem& real = FileSystem::real();
  EXPECT_EQ(with_json_place(file + ": /list/0: expected string, got 1\nmore", real),
            file + ": /list/0: expected string, got 1 (line 3, column 12)\nmore");
  EXPECT_EQ(
      with_json_place(file + ": /a: bad\n  ^~~\n" + file + ": /list/0: bad", real),
      file + ": /a: bad (line 2, column 8)\n  ^~~\n" + file + ": /list/0: bad (line 3, column 12)");
  EXPECT_EQ(with_json_place("--kernel: " + file + ": /a: bad", real),
            "--kernel: " + file + ": /a: bad (line 2, column 8)");
  EXPECT_EQ(with_json_place(file + ": unknown key 'c/d'", real),
            file + ": unknown key 'c/d' (line 5, column 10)");
  for (const std::string& other :
       {file + ": line 3, column 7: syntax error", std::string("a.json: /a: no such file"),
        std::string("no file at all")}) {
    EXPECT_EQ(with_json_place(other, real), other);
  }
}

}  // namespace
}  // namespace mgtune
