#include "cli/output/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace mgtune {
namespace {

TEST(Terminal, WordsOfOutcomesAreColoredAndOthersStay) {
  EXPECT_EQ(colored("row  wrong  0\nrow  ok\n"), "row  \x1b[31mwrong\x1b[0m  0\nrow  ok\n");
  EXPECT_EQ(colored("FASTER"), "\x1b[32mFASTER\x1b[0m");
  EXPECT_EQ(colored("wrongly"), "wrongly");
  EXPECT_EQ(colored(""), "");
}

TEST(Terminal, AFileIsNoTerminal) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  EXPECT_FALSE(is_terminal(pipe_ends[1]));
  EXPECT_FALSE(shows_color(pipe_ends[1]));
  EXPECT_EQ(terminal_columns(pipe_ends[1], 77), 77U);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

}  // namespace
}  // namespace mgtune
