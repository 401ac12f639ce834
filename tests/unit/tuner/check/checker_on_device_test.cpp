// A check that compares where the tensors lie says of every variant what the host says.

#include "tests/helpers/kernels/checker_fixture.h"
#include "tests/helpers/operators/in_place_family.h"

namespace mgtune {
namespace {

using Compare = Checker::Compare;

class CheckerOnDeviceTest : public CheckerTest {
 protected:
  void expect_same(const Values& values, const std::string& variant) {
    bind(values, Compare::on_host);
    const CheckRecord host = check(variant);
    bind(values, Compare::on_device);
    const CheckRecord device = check(variant);
    EXPECT_EQ(device.outcome, host.outcome) << variant << ": " << device.message;
    EXPECT_EQ(device.message, host.message) << variant;
    EXPECT_DOUBLE_EQ(static_cast<float>(device.error), static_cast<float>(host.error)) << variant;
    EXPECT_EQ(device.tolerance, host.tolerance) << variant;
  }
};

TEST_F(CheckerOnDeviceTest, EveryBugIsDescribedAlike) {
  for (const char* bug : {"none", "past_end", "before_start", "silent", "stale", "changes_input",
                          "infinite", "last_element", "wrong_sum"}) {
    expect_same(kSummed, std::string("block BUG=") + bug);
  }
}

TEST_F(CheckerOnDeviceTest, OneElementWithinTheTensorsToleranceIsFound) {
  const Values values{{"rows", "2000"}, {"columns", "128"}, {"T", "f16"}};
  expect_same(values, "block BUG=last_element");
  expect_same(values, "block BUG=none");
}

TEST_F(CheckerOnDeviceTest, AStridedOutputIsLeftToTheHost) {
  expect_same(kStrided, "block BUG=none");
  expect_same(kStrided, "block BUG=padding");
}

TEST_F(CheckerOnDeviceTest, AnEmptyProblemPasses) {
  expect_same({{"rows", "0"}, {"columns", "100"}, {"T", "f32"}}, "block BUG=none");
}

TEST_F(CheckerOnDeviceTest, WorkspacesAreLookedAt) {
  expect_same(kSmall, "ticket LEFT=0");
  expect_same(kSmall, "ticket LEFT=1");
}

TEST_F(CheckerOnDeviceTest, AVariantIsRightAfterOneThatChangedAnInput) {
  bind(kSummed, Compare::on_device);
  EXPECT_EQ(check("block BUG=changes_input").outcome, Outcome::wrong);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
  EXPECT_EQ(check("block BUG=silent").outcome, Outcome::wrong);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

// As launches that are timed may do, or a variant that writes far out of bounds.
TEST_F(CheckerOnDeviceTest, AVariantIsRightAfterSomethingChangedItsInputsOrBands) {
  bind(kSummed, Compare::on_device);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
  for (const std::ptrdiff_t place : {0, -1}) {
    static_cast<unsigned char*>(launch_arguments(0)->front().tensors[0])[place] ^= 1;
    EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
    EXPECT_EQ(check("block BUG=changes_input").outcome, Outcome::wrong);
  }
}

TEST_F(CheckerOnDeviceTest, InoutTensorsAndIntegersAreServed) {
  use("add", {{"add.json", kAddJson}, {"add.cu", kAddSource}, {"reference.cu", kAddReference}});
  expect_same({{"count", "200"}}, "plain HITS=1");
  expect_same({{"count", "200"}}, "plain HITS=2");
}

}  // namespace
}  // namespace mgtune
