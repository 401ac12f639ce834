#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/helpers/test_paths.h"
#include "worker/worker_process.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

WorkRequest run_request(const std::string& variant, std::int64_t id = 0) {
  return {id, MeasureRequest{{{"family", "family.add", "n=7"}, variant}, 0}};
}

class WorkerRunTest : public ::testing::Test {
 protected:
  WorkReply measure(const std::string& variant) {
    const std::int64_t id = next_id_++;
    Result<WorkReply> reply = process_.run(run_request(variant, id));
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    if (!reply.ok()) return {};
    EXPECT_EQ(reply->id, id);
    return *reply;
  }

  std::int64_t next_id_ = 1;
  WorkerProcess process_{{fake_worker_path()}, milliseconds(3000)};
  WorkerProcess hasty_{{fake_worker_path()}, milliseconds(300)};
};

TEST_F(WorkerRunTest, OneWorkerAnswersManyRequests) {
  for (const char* variant : {"row VEC=1", "row VEC=2", "row VEC=4"}) {
    const WorkReply reply = measure(variant);
    EXPECT_EQ(reply.outcome, Outcome::ok);
    EXPECT_EQ(reply.message, variant);
    EXPECT_TRUE(reply.build.has_value());
  }
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(WorkerRunTest, ACrashIsTheVariantsOutcomeAfterOneRetry) {
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
  const WorkReply crashed = measure("crash");
  EXPECT_EQ(crashed.outcome, Outcome::crashed);
  EXPECT_EQ(crashed.message,
            "killed by signal 11 (Segmentation fault): "
            "block (3,0,0) thread 5: byte 64 of a buffer of 64");
  EXPECT_EQ(process_.restarts(), 1);  // the retry; the next run_request starts another
  EXPECT_EQ(measure("row VEC=2").outcome, Outcome::ok);
  EXPECT_EQ(process_.restarts(), 2);
}

TEST_F(WorkerRunTest, AnInnocentSuspectIsCleared) {
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
  EXPECT_EQ(measure("crash unless fresh").outcome, Outcome::ok);
  EXPECT_EQ(process_.restarts(), 1);
}

TEST_F(WorkerRunTest, AnExitIsACrash) {
  const WorkReply reply = measure("exit");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_EQ(reply.message, "exited with 7");
}

TEST_F(WorkerRunTest, OfASanitizersReportTheEssenceIsKept) {
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

TEST_F(WorkerRunTest, AHangIsATimeout) {
  const auto start = std::chrono::steady_clock::now();
  const Result<WorkReply> reply = hasty_.run(run_request("hang", 5));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->outcome, Outcome::timeout);
  EXPECT_EQ(reply->message, "not done within 300ms");
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(30'000));
  EXPECT_EQ(hasty_.run(run_request("row VEC=2"))->outcome, Outcome::ok);
  EXPECT_EQ(hasty_.run(run_request("hang unless fresh"))->outcome, Outcome::ok);
}

TEST_F(WorkerRunTest, GarbageIsACrashAndNamed) {
  const WorkReply reply = measure("garbage");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_THAT(reply.message, HasSubstr("the worker's answer: not JSON: {\"did\":"));
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
}

TEST_F(WorkerRunTest, AnAnswerToSomethingElseIsACrash) {
  const WorkReply reply = measure("other id");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_THAT(reply.message, HasSubstr("the worker's answer is to something else"));
}

TEST_F(WorkerRunTest, MuchErrorOutputBlocksNothing) {
  EXPECT_EQ(measure("chatter").outcome, Outcome::ok);
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(WorkerRunTest, ErrorOutputBelongsToItsVariant) {
  EXPECT_EQ(measure("chatter").outcome, Outcome::ok);
  EXPECT_EQ(measure("exit").message, "exited with 7");
}

TEST_F(WorkerRunTest, AReferenceThatCrashesOrHangsEndsTheSweep) {
  Status status = hasty_.run(run_request("crash in the reference")).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), StartsWith("family/reference.cu: add_reference: "));
  EXPECT_THAT(status.message(), HasSubstr("killed by signal 11 (Segmentation fault)"));
  EXPECT_EQ(hasty_.restarts(), 1);  // it was tried once more
  status = hasty_.run(run_request("hang in the reference")).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("add_reference"));
  EXPECT_THAT(status.message(), HasSubstr("not done within 300ms"));
  EXPECT_EQ(measure("crash after the reference").outcome, Outcome::crashed);
  EXPECT_EQ(measure("nothing happens in the reference").outcome, Outcome::ok);
}

TEST_F(WorkerRunTest, WhatTheMachineDoesIsTriedTwiceAndNotCharged) {
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);
  EXPECT_EQ(measure("no space unless fresh").outcome, Outcome::ok);
  EXPECT_EQ(measure("killed unless fresh").outcome, Outcome::ok);
  EXPECT_EQ(process_.run(run_request("no space")).status().code(), StatusCode::io);
  const Status status = process_.run(run_request("killed")).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("killed by signal 9"));
  EXPECT_EQ(measure("row VEC=2").outcome, Outcome::ok);
}

TEST_F(WorkerRunTest, AWrongWordIsNotTriedAgain) {
  EXPECT_EQ(process_.run(run_request("wrong word")).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(WorkerRunTest, AWorkerThatNeverBeginsIsNotTheVariantsFault) {
  for (const std::string& variant :
       {std::string("die before begin"), std::string("garbage before begin")}) {
    const Result<WorkReply> reply = process_.run(run_request(variant));
    ASSERT_FALSE(reply.ok()) << variant;
    EXPECT_EQ(reply.status().code(), StatusCode::environment);
    EXPECT_THAT(reply.status().message(), StartsWith("no measure worker begins its work"));
  }
  EXPECT_EQ(measure("row VEC=1").outcome, Outcome::ok);  // it is not given up for good
}

TEST_F(WorkerRunTest, AHangBeforeBeginEndsToo) {
  const Result<WorkReply> reply = hasty_.run(run_request("hang before begin"));
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("no line before the deadline"));
}

TEST(WorkerRun, WhatADeadWorkerSaysIsInTheMessage) {
  WorkerProcess process({fake_worker_path(), "dead"}, milliseconds(3000));
  const Result<WorkReply> reply = process.run({});
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("(exited with 4: no device here)"));
}

TEST(WorkerRun, AMissingProgramIsNamed) {
  WorkerProcess process({"/no/such/program"}, milliseconds(3000));
  const Result<WorkReply> reply = process.run({});
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("cannot run '/no/such/program'"));
}

}  // namespace
}  // namespace mgtune
