#include "core/utf8.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TEST(Utf8, ValidTextStays) {
  for (const char* text : {"", "a b\n", "3 \xC2\xB5s", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(Utf8, EachOtherByteIsReplaced) {
  const std::string mark(kUtf8Replacement);
  EXPECT_EQ(valid_utf8("x\xFFy"), "x" + mark + "y");
  EXPECT_EQ(valid_utf8("\xE2\x82"), mark + mark) << "cut in the middle of a character";
  EXPECT_EQ(valid_utf8("\xC0\x80"), mark + mark) << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), mark + mark + mark) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80").size(), 4 * mark.size()) << "above U+10FFFF";
}

}  // namespace
}  // namespace mgtune
