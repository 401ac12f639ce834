// What a check says of thread orders: missing barriers, divergent shuffles, declared atomics.

#include "tests/helpers/kernels/checker_fixture.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(CheckerTest, AMissingBarrierIsNamed) {
  bind(kSmall);
  const CheckRecord record = check("block BUG=missing_barrier");
  EXPECT_EQ(record.outcome, Outcome::wrong);
  EXPECT_THAT(record.message,
              StartsWith("outputs differ between thread orders forward and reversed, first at y["));
  EXPECT_THAT(record.message, HasSubstr("a barrier is missing?"));
  if (std::string(MGTUNE_SANITIZE).find("thread") == std::string::npos) {
    EXPECT_THAT(record.message, HasSubstr("race on shared memory: thread ("));
    EXPECT_THAT(record.message, HasSubstr(line_of("tile[thread] = thread < columns")));
    EXPECT_THAT(record.message, HasSubstr(line_of("float value = tile[column]")));
  }
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);  // in order forward again
}

TEST_F(CheckerTest, AShuffleUnderDivergenceIsNamed) {
  bind(kSmall);
  const CheckRecord record = check("block BUG=divergent_shuffle");
  EXPECT_EQ(record.outcome, Outcome::launch_failed);
  EXPECT_THAT(record.message, HasSubstr("block (0,0,0)"));
  EXPECT_THAT(record.message, HasSubstr("__shfl_xor_sync"));
  EXPECT_THAT(record.message, HasSubstr(line_of("__shfl_xor_sync")));
}

TEST_F(CheckerTest, DeclaredOrderDependenceIsHeldToTheTolerance) {
  bind(kSummed);
  const CheckRecord declared = check("atomic FLAG=0");
  EXPECT_EQ(declared.outcome, Outcome::ok) << declared.message;
  expect_wrong("undeclared_atomic FLAG=0",
               "outputs differ between thread orders forward and reversed, first at sum[");
}

}  // namespace
}  // namespace mgtune
