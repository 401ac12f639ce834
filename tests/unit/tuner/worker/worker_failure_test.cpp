#include "worker/worker_failure.h"

#include <gtest/gtest.h>

#include <map>

namespace mgtune {
namespace {

TEST(WorkerFailure, OnlyWhatIsTheVariantsBecomesItsOutcome) {
  const std::map<StatusCode, Outcome> of_variant{
      {StatusCode::compile_failed, Outcome::compile_failed},
      {StatusCode::launch_failed, Outcome::launch_failed},
      {StatusCode::timeout, Outcome::timeout},
      {StatusCode::unsupported, Outcome::unsupported},
      {StatusCode::device_lost, Outcome::crashed}};
  for (int i = 1; i <= static_cast<int>(StatusCode::internal); ++i) {
    const auto code = static_cast<StatusCode>(i);
    WorkReply reply;
    reply.build = BuildRecord{};
    put_failure({code, "why"}, reply);
    EXPECT_EQ(reply.message, "why");
    const auto found = of_variant.find(code);
    if (found != of_variant.end()) {
      EXPECT_EQ(reply.kind, WorkReply::Kind::done) << to_string(code);
      EXPECT_EQ(reply.outcome, found->second) << to_string(code);
      EXPECT_TRUE(reply.build.has_value());
    } else {
      EXPECT_EQ(reply.kind, WorkReply::Kind::failed) << to_string(code);
      EXPECT_EQ(reply.failure, code);
      EXPECT_FALSE(reply.build.has_value());
    }
  }
}

TEST(WorkerFailure, WhatAVariantsExpressionsGetWrongIsItsLaunch) {
  EXPECT_EQ(launch_failure(invalid_argument("division by zero")).code(), StatusCode::launch_failed);
  EXPECT_EQ(launch_failure(invalid_argument("division by zero")).message(), "division by zero");
  EXPECT_EQ(launch_failure(unsupported("clusters")).code(), StatusCode::unsupported);
  EXPECT_TRUE(launch_failure(Status()).ok());
}

TEST(WorkerFailure, TheSweepsEndNamesTheVariant) {
  const NamedProblem problem{"rmsnorm", "rmsnorm.forward", "rows=4"};
  const WorkRequest request{1, CompileRequest{{problem, "row VEC=8"}, "cpu"}};
  const Status status = end_of_sweep(request, failed_reply(request.id, io_error("no space")));
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_EQ(status.message(),
            "no space\nwhile compiling row VEC=8 of rmsnorm.forward rows=4, twice; nothing is "
            "recorded for it, and the same command goes on from here");
  const Status reference =
      end_of_sweep(request, failed_reply(request.id, invalid_argument("reference.cu: broken")));
  EXPECT_EQ(reference.code(), StatusCode::invalid_argument);
  EXPECT_EQ(reference.message(), "reference.cu: broken");
  const WorkRequest final{2, FinalRequest{problem, {"a", "b", "a"}}};
  EXPECT_EQ(end_of_sweep(final, failed_reply(final.id, internal_error("no"))).message(),
            "no\nwhile measuring a final of 2 variants of rmsnorm.forward rows=4");
}

TEST(WorkerFailure, WhatRefusesToCountIsAskedOnceAndEndsNoSweep) {
  WorkRequest request;
  const WorkReply failed = failed_reply(request.id, environment_error("no privilege"));
  EXPECT_TRUE(is_worth_a_retry(request, failed));
  request.work = CountRequest();
  EXPECT_FALSE(is_worth_a_retry(request, failed));
  EXPECT_EQ(end_of_sweep(request, failed).message(), "no privilege");
}

TEST(WorkerFailure, ALateCompilerThatWasNotAtWorkIsStarved) {
  using std::chrono::seconds;
  EXPECT_TRUE(is_starved(seconds(0), seconds(150))) << "it was stopped, or a clock jumped";
  EXPECT_TRUE(is_starved(seconds(100), seconds(150)));
  EXPECT_FALSE(is_starved(seconds(149), seconds(150)));
  EXPECT_FALSE(is_starved(seconds(200), seconds(150))) << "two threads";
}

TEST(WorkerFailure, VariantsThatCompileTogetherAreNotTriedAgainTogether) {
  const LostWorker crashed{io_error("end of file"), "killed by signal 11", false, {}, ""};
  const WorkReply no_space = failed_reply(1, io_error("no space"));
  CompileRequest work;
  EXPECT_TRUE(is_worth_a_retry({1, work}, crashed));
  EXPECT_TRUE(is_worth_a_retry({1, work}, no_space));
  work.others = {"row VEC=4"};
  EXPECT_FALSE(is_worth_a_retry({1, work}, crashed));
  EXPECT_FALSE(is_worth_a_retry({1, work}, no_space));
}

TEST(WorkerFailure, ATimeoutThatAWorkerReportsIsTriedAgainUnlessItCompiles) {
  WorkReply late;
  late.outcome = Outcome::timeout;
  WorkRequest request;
  EXPECT_TRUE(is_worth_a_retry(request, late));
  request.work = CompileRequest();
  EXPECT_FALSE(is_worth_a_retry(request, late));
  request.work = ProbeRequest();
  late.outcome = Outcome::crashed;
  EXPECT_FALSE(is_worth_a_retry(request, late));
}

}  // namespace
}  // namespace mgtune
