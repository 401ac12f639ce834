#include <gtest/gtest.h>

#include "core/text.h"

namespace mgtune {
namespace {

TEST(ShellWordTest, QuotesOnlyWhatAShellWouldTouch) {
  EXPECT_EQ(shell_word("rows=4,hidden=64"), "rows=4,hidden=64");
  EXPECT_EQ(shell_word("NVIDIA H200"), "'NVIDIA H200'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a'b$(rm)"), "'a'\\''b$(rm)'");
}

}  // namespace
}  // namespace mgtune
