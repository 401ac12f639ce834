// Of 64 variants one reads far out of bounds, one never ends, one writes NaN, one writes nothing
// and one aborts: the other 59 are measured and ranked.

#include "tests/helpers/culprits.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

TEST(CliCulpritsTest, FiveOfSixtyFourFailAndNothingElseIsBlamed) {
  const TestFolder cache;
  MgtuneProgram mgtune{cache.path()};
  const MgtuneProgram::Words sweep = {"sweep",         "--gpu",    "cpu", "--kernel",
                                      kCulpritsFamily, "--budget", "64"};
  const Ended ended = mgtune.run(sweep);
  expect_culprits_alone(ended, mgtune.database());
  EXPECT_THAT(ended.err, HasSubstr("5 variants failed"));

  const Ended again = mgtune.run(sweep);
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("nothing to do: all 64 variants"));
}

}  // namespace
}  // namespace mgtune
