#include "measure/measure_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MeasureProcessTest : public ::testing::Test {
 protected:
  WorkReply measure(const std::string& variant) {
    WorkRequest request;
    request.id = next_id_++;
    request.variant = variant;
    Result<WorkReply> reply = process_.measure(request);
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    if (!reply.ok()) return {};
    EXPECT_EQ(reply->id, request.id);
    return *reply;
  }

  std::int64_t next_id_ = 1;
  MeasureProcess process_{{fake_worker_path()}, milliseconds(3000)};
  MeasureProcess hasty_{{fake_worker_path()}, milliseconds(300)};
};

TEST_F(MeasureProcessTest, OneWorkerAnswersManyRequests) {
  for (const char* variant : {"row VEC=1", "row VEC=2", "row VEC=4"}) {
    const WorkReply reply = measure(variant);
    EXPECT_EQ(reply.outcome, Outcome::ok);
    EXPECT_EQ(reply.message, variant);
    EXPECT_TRUE(reply.build.has_value());
  }
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(MeasureProcessTest, ACrashIsTheVariantsOutcomeAfterOneRetry) {
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
  const WorkReply crashed = measure("crash");
  EXPECT_EQ(crashed.outcome, Outcome::crashed);
  EXPECT_EQ(crashed.message,
            "killed by signal 11 (Segmentation fault): "
            "block (3,0,0) thread 5: byte 64 of a buffer of 64");
  EXPECT_EQ(process_.restarts(), 1);  // the retry; the next request starts another
  EXPECT_EQ(measure("row VEC=2").outcome, Outcome::ok);
  EXPECT_EQ(process_.restarts(), 2);
}

TEST_F(MeasureProcessTest, AnInnocentSuspectIsCleared) {
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
  EXPECT_EQ(measure("crash unless fresh").outcome, Outcome::ok);
  EXPECT_EQ(process_.restarts(), 1);
}

TEST_F(MeasureProcessTest, AnExitIsACrash) {
  const WorkReply reply = measure("exit");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_EQ(reply.message, "exited with 7");
}

TEST_F(MeasureProcessTest, OfASanitizersReportTheEssenceIsKept) {
  const WorkReply reply = measure("sanitizer report");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_THAT(reply.message, StartsWith("exited with 1: "));
  EXPECT_THAT(reply.message, HasSubstr("SUMMARY: AddressSanitizer: heap-buffer-overflow "
                                       "/tmp/vector_add.cu:17 in vector_add<float, 4>"));
  EXPECT_THAT(reply.message, HasSubstr("WRITE of size 4"));
  EXPECT_THAT(reply.message, HasSubstr("vector_add.cu:17"));
  EXPECT_THAT(reply.message, Not(HasSubstr("Shadow bytes")));
  EXPECT_THAT(reply.message, Not(HasSubstr("pool.cpp:40")));
}

TEST_F(MeasureProcessTest, AHangIsATimeout) {
  WorkRequest request;
  request.id = 5;
  request.variant = "hang";
  const auto start = std::chrono::steady_clock::now();
  const Result<WorkReply> reply = hasty_.measure(request);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->outcome, Outcome::timeout);
  EXPECT_EQ(reply->message, "not done within 300ms");
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(3000));
  request.variant = "row VEC=2";
  EXPECT_EQ(hasty_.measure(request)->outcome, Outcome::ok);
  request.variant = "hang unless fresh";
  EXPECT_EQ(hasty_.measure(request)->outcome, Outcome::ok);
}

TEST_F(MeasureProcessTest, GarbageIsACrashAndNamed) {
  const WorkReply reply = measure("garbage");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_THAT(reply.message, HasSubstr("the worker's answer: not JSON: {\"did\":"));
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
}

TEST_F(MeasureProcessTest, AnAnswerToSomethingElseIsACrash) {
  const WorkReply reply = measure("other id");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_THAT(reply.message, HasSubstr("the worker's answer is to something else"));
}

TEST_F(MeasureProcessTest, MuchErrorOutputBlocksNothing) {
  EXPECT_EQ(measure("chatter").outcome, Outcome::ok);
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(MeasureProcessTest, ErrorOutputBelongsToItsVariant) {
  EXPECT_EQ(measure("chatter").outcome, Outcome::ok);
  EXPECT_EQ(measure("exit").message, "exited with 7");
}

TEST_F(MeasureProcessTest, AReferenceThatCrashesOrHangsEndsTheSweep) {
  WorkRequest request;
  request.id = 5;
  request.op = "family.add";
  request.problem = "n=7";
  request.variant = "crash in the reference";
  Status status = hasty_.measure(request).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), StartsWith("family/reference.cu: add_reference: "));
  EXPECT_THAT(status.message(), HasSubstr("killed by signal 11 (Segmentation fault)"));
  EXPECT_EQ(hasty_.restarts(), 1);  // it was tried once more
  request.variant = "hang in the reference";
  status = hasty_.measure(request).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("add_reference"));
  EXPECT_THAT(status.message(), HasSubstr("not done within 300ms"));
  EXPECT_EQ(measure("crash after the reference").outcome, Outcome::crashed);
  EXPECT_EQ(measure("nothing happens in the reference").outcome, Outcome::ok);
}

TEST_F(MeasureProcessTest, WhatTheMachineDoesIsTriedTwiceAndNotCharged) {
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
  EXPECT_EQ(measure("no space unless fresh").outcome, Outcome::ok);
  EXPECT_EQ(measure("killed unless fresh").outcome, Outcome::ok);
  WorkRequest request;
  request.variant = "no space";
  EXPECT_EQ(process_.measure(request).status().code(), StatusCode::io);
  request.variant = "killed";
  const Status status = process_.measure(request).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("killed by signal 9"));
  EXPECT_EQ(measure("row VEC=2").outcome, Outcome::ok);
}

TEST_F(MeasureProcessTest, AWrongWordIsNotTriedAgain) {
  WorkRequest request;
  request.variant = "wrong word";
  EXPECT_EQ(process_.measure(request).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(MeasureProcessTest, AWorkerThatNeverBeginsIsNotTheVariantsFault) {
  for (const std::string& variant :
       {std::string("die before begin"), std::string("garbage before begin")}) {
    WorkRequest request;
    request.variant = variant;
    const Result<WorkReply> reply = process_.measure(request);
    ASSERT_FALSE(reply.ok()) << variant;
    EXPECT_EQ(reply.status().code(), StatusCode::environment);
    EXPECT_THAT(reply.status().message(), StartsWith("no measure worker begins its work"));
  }
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);  // it is not given up for good
}

TEST_F(MeasureProcessTest, AHangBeforeBeginEndsToo) {
  WorkRequest request;
  request.variant = "hang before begin";
  const Result<WorkReply> reply = hasty_.measure(request);
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("no line before the deadline"));
}

TEST(MeasureProcess, WhatADeadWorkerSaysIsInTheMessage) {
  MeasureProcess process({fake_worker_path(), "dead"}, milliseconds(3000));
  const Result<WorkReply> reply = process.measure({});
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("(exited with 4: no device here)"));
}

TEST(MeasureProcess, AMissingProgramIsNamed) {
  MeasureProcess process({"/no/such/program"}, milliseconds(3000));
  const Result<WorkReply> reply = process.measure({});
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("cannot run /no/such/program"));
}

}  // namespace
}  // namespace mgtune
