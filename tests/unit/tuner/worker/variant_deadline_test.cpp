#include <gtest/gtest.h>

#include <string>

#include "worker/worker_process.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

NamedProblem problem(const std::string& text) { return {"rmsnorm", "rmsnorm.forward", text}; }

WorkRequest request(const std::string& text) { return {0, MeasureRequest{{problem(text), ""}, 0}}; }

WorkReply reply(Outcome outcome) {
  WorkReply reply;
  reply.outcome = outcome;
  return reply;
}

class VariantDeadlineTest : public testing::Test {
 protected:
  VariantDeadline deadline_{seconds(60)};
};

TEST_F(VariantDeadlineTest, IsTwentyTimesTheFirstThatCameThrough) {
  EXPECT_EQ(deadline_.of(request("rows=1")), seconds(60));
  deadline_.learn(request("rows=1"), reply(Outcome::ok), milliseconds(600));
  EXPECT_EQ(deadline_.of(request("rows=1")), seconds(12));
  deadline_.learn(request("rows=1"), reply(Outcome::ok), milliseconds(2000));
  EXPECT_EQ(deadline_.of(request("rows=1")), seconds(12));
  EXPECT_EQ(deadline_.basis(request("rows=1")),
            "; the first variant of the problem was done in 600ms");
}

TEST_F(VariantDeadlineTest, LiesBetweenFiveSecondsAndWhatTheCallerAllows) {
  deadline_.learn(request("rows=1"), reply(Outcome::ok), milliseconds(1));
  EXPECT_EQ(deadline_.of(request("rows=1")), seconds(5));
  deadline_.learn(request("rows=2"), reply(Outcome::ok), seconds(4));
  EXPECT_EQ(deadline_.of(request("rows=2")), seconds(60));
  VariantDeadline hasty(milliseconds(300));
  hasty.learn(request("rows=1"), reply(Outcome::ok), milliseconds(1));
  EXPECT_EQ(hasty.of(request("rows=1")), milliseconds(300));
}

TEST_F(VariantDeadlineTest, BelongsToTheProblem) {
  deadline_.learn(request("rows=1"), reply(Outcome::ok), milliseconds(1));
  EXPECT_EQ(deadline_.of(request("rows=2")), seconds(60));
  deadline_.learn(request("rows=2"), reply(Outcome::ok), milliseconds(1));
  EXPECT_EQ(deadline_.of(request("rows=1")), seconds(5)) << "a sweep takes turns between two";
  deadline_.learn(request("rows=3"), reply(Outcome::ok), milliseconds(1));
  EXPECT_EQ(deadline_.of(request("rows=1")), seconds(60)) << "a sweep does not come back to it";
}

TEST_F(VariantDeadlineTest, OnlyAMeasuredVariantSaysHowLongOneTakes) {
  for (const Outcome outcome : {Outcome::wrong, Outcome::timeout, Outcome::crashed}) {
    deadline_.learn(request("rows=1"), reply(outcome), milliseconds(1));
  }
  const WorkRequest final{0, FinalRequest{problem("rows=1"), {}}};
  const WorkRequest count{0, CountRequest{{problem("rows=1"), ""}, 1}};
  for (const WorkRequest& other : {final, count}) {
    deadline_.learn(other, reply(Outcome::ok), milliseconds(1));
  }
  EXPECT_EQ(deadline_.of(request("rows=1")), seconds(60));
  EXPECT_EQ(deadline_.basis(request("rows=1")), "");
  deadline_.learn(request("rows=1"), reply(Outcome::ok), milliseconds(1));
  EXPECT_EQ(deadline_.of(final), seconds(60));
}

}  // namespace
}  // namespace mgtune
