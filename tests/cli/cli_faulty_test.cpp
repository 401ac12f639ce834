// Each planted fault of tests/families/faulty ends as a row with the right status and a message
// that names it; the sweep goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class CliFaultyTest : public ::testing::Test {
 protected:
  // The row of the operator's only variant.
  OutcomeView row_of(const std::string& op) {
    const Ended ended = mgtune_.run(
        {"sweep", "--gpu", "cpu", "--kernel", source_path("tests/families/faulty.") + op});
    EXPECT_EQ(ended.exit_code, 3) << ended;
    Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
    EXPECT_TRUE(store.ok()) << store.status().message();
    if (!store.ok()) return {};
    EXPECT_TRUE(store->tuned()->empty());
    const std::vector<OutcomeView> rows = *store->outcomes();
    EXPECT_EQ(rows.size(), 1U) << ended;
    return rows.empty() ? OutcomeView() : rows.front();
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliFaultyTest, AMissingBarrierIsWrong) {
  const OutcomeView row = row_of("missing_barrier");
  EXPECT_EQ(row.outcome, Outcome::wrong) << row.message;
  EXPECT_THAT(row.message, HasSubstr("thread"));
}

TEST_F(CliFaultyTest, ADivergentShuffleIsNamed) {
  const OutcomeView row = row_of("divergent_shuffle");
  EXPECT_THAT(row.outcome, AnyOf(Outcome::crashed, Outcome::launch_failed)) << row.message;
  EXPECT_THAT(row.message, HasSubstr("divergent_shuffle.cu"));
}

TEST_F(CliFaultyTest, OneElementPastTheEndIsSeen) {
  const OutcomeView row = row_of("out_of_bounds");
  EXPECT_THAT(row.outcome, AnyOf(Outcome::wrong, Outcome::crashed, Outcome::launch_failed))
      << row.message;
  EXPECT_FALSE(row.message.empty());
}

TEST_F(CliFaultyTest, AnEndlessKernelTimesOut) {
  if (!in_long_lane(true, false)) GTEST_SKIP() << "it takes 40 s: scripts/test.sh --all runs it";
  const OutcomeView row = row_of("endless_loop");
  EXPECT_EQ(row.outcome, Outcome::timeout) << row.message;
  EXPECT_THAT(row.message, AnyOf(HasSubstr("endless_loop.cu:"), HasSubstr("not done within")));
}

}  // namespace
}  // namespace mgtune
