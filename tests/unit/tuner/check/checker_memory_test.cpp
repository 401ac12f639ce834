// What a check says of memory: guard bands, padding, inputs, workspaces, reads past the end.

#include "tests/helpers/kernels/checker_fixture.h"

namespace mgtune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST_F(CheckerTest, WritesOutOfBoundsAreWrong) {
  bind(kSmall);
  expect_wrong("block BUG=past_end", "y: written past its end, at byte 1600 of 1600");
  expect_wrong("block BUG=before_start", "y: written before its start, at byte -4");
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);  // what was damaged is whole again
}

TEST_F(CheckerTest, WritesBetweenStridesAreWrong) {
  bind(kStrided);
  expect_wrong("block BUG=padding", "y: the padding between its strides was written");
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, AChangedInputIsWrong) {
  bind(kStrided);
  expect_wrong("block BUG=changes_input", "x: an input was changed, first at x[3, 2]");
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, AWorkspaceThatMustStayZeroedIsLookedAt) {
  bind(kSmall);
  EXPECT_EQ(check("ticket LEFT=0").outcome, Outcome::ok);
  expect_wrong("ticket LEFT=1", "workspace: byte 0 is not zero after the launch");
}

TEST_F(CheckerTest, WritesPastTheWorkspaceAreWrong) {
  bind(kSmall);
  expect_wrong("ticket LEFT=2", "workspace: written past its end");
}

TEST_F(CheckerTest, AReadPastTheEndEndsTheProcess) {
  bind(kSmall);
  // AddressSanitizer sees the access itself; ThreadSanitizer stops at the handler that describes
  // it.
  EXPECT_DEATH({ check("block BUG=reads_past_end"); },
               AnyOf(HasSubstr("reads element 400 of x, which has 400 elements"),
                     HasSubstr("heap-buffer-overflow"), HasSubstr("signal-unsafe call")));
}

}  // namespace
}  // namespace mgtune
