#include "compile/compile_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

WorkRequest pool_request(std::int64_t id, const std::string& variant) {
  return {id, CompileRequest{{{}, variant}, ""}};
}

// Waits for the next finished one; nullopt if nothing is pending.
Result<std::optional<WorkReply>> next(CompilePool& pool) {
  if (pool.pending() == 0) return std::optional<WorkReply>();
  return wait_for_next(pool);
}

// Everything that is pending, by id.
std::map<std::int64_t, WorkReply> drain(CompilePool& pool) {
  std::map<std::int64_t, WorkReply> replies;
  while (true) {
    const Result<std::optional<WorkReply>> reply = next(pool);
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    if (!reply.ok() || !reply->has_value()) return replies;
    EXPECT_TRUE(replies.emplace((*reply)->id, **reply).second);
  }
}

TEST(CompilePool, NothingSubmittedIsNothingToWaitFor) {
  CompilePool pool({"/no/such/program"}, 2, milliseconds(1000));
  EXPECT_EQ(pool.pending(), 0U);
  const Result<std::optional<WorkReply>> reply = next(pool);
  ASSERT_TRUE(reply.ok());
  EXPECT_FALSE(reply->has_value());
}

TEST(CompilePool, EveryRequestIsAnsweredOnce) {
  CompilePool pool({fake_worker_path()}, 3, milliseconds(3000));
  for (std::int64_t id = 0; id < 40; ++id) pool.submit(pool_request(id, "v" + std::to_string(id)));
  EXPECT_EQ(pool.pending(), 40U);
  const std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 40U);
  for (const auto& [id, reply] : replies) {
    EXPECT_EQ(reply.outcome, Outcome::ok);
    EXPECT_EQ(reply.message, "v" + std::to_string(id));
    EXPECT_TRUE(reply.build.has_value());
  }
  EXPECT_EQ(pool.pending(), 0U);
}

// Each of the eight waits until all of them are there.
TEST(CompilePool, WorkersRunAtTheSameTime) {
  namespace fs = std::filesystem;
  const TestFolder gate;
  const Variable variable("FAKE_WORKER_COMPILE_GATE", gate.path());
  CompilePool pool({fake_worker_path()}, 8, std::chrono::minutes(2));
  const auto waiting = [&] {
    return std::vector<fs::path>(fs::directory_iterator(gate.path()), fs::directory_iterator());
  };
  std::jthread opener([&](const std::stop_token& is_over) {
    while (waiting().size() < 8 && !is_over.stop_requested()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    for (const fs::path& file : waiting()) fs::remove(file);
  });
  for (std::int64_t id = 0; id < 8; ++id) pool.submit(pool_request(id, "v"));
  const std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 8U);
  for (const auto& [id, reply] : replies) EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
}

TEST(CompilePool, TheFastOverTakesTheSlow) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "slow"));
  pool.submit(pool_request(2, "fast"));
  EXPECT_EQ(next(pool).value()->id, 2);
  EXPECT_EQ(pool.pending(), 1U);
  EXPECT_EQ(next(pool).value()->id, 1);
}

TEST(CompilePool, AKernelIsCompiledByOneWorkerFirst) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "slow"), {"main 1", "sum"});
  pool.submit(pool_request(2, "v2"), {"main 2", "sum"});
  pool.submit(pool_request(3, "v3"), {"main 3"});
  EXPECT_EQ(next(pool).value()->id, 3)
      << "it goes before the one that needs the first one's kernel";
  EXPECT_EQ(next(pool).value()->id, 1);
  EXPECT_EQ(next(pool).value()->id, 2);

  // The kernel is in the cache now, so nobody waits for it.
  pool.submit(pool_request(4, "slow"), {"main 4", "sum"});
  pool.submit(pool_request(5, "v5"), {"main 5", "sum"});
  EXPECT_EQ(next(pool).value()->id, 5);
  EXPECT_EQ(next(pool).value()->id, 4);
}

TEST(CompilePool, AKernelThatFailsHoldsNobodyUp) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "crash"), {"main 1", "sum"});
  pool.submit(pool_request(2, "v2"), {"main 2", "sum"});
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  EXPECT_EQ(replies[1].outcome, Outcome::compile_failed);
  EXPECT_EQ(replies[2].outcome, Outcome::ok);
}

TEST(CompilePool, ACrashOrHangCostsOneVariant) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(400));
  pool.submit(pool_request(1, "v1"));
  pool.submit(pool_request(2, "crash"));
  pool.submit(pool_request(3, "v3"));
  pool.submit(pool_request(4, "hang"));
  pool.submit(pool_request(5, "garbage"));
  pool.submit(pool_request(6, "other id"));
  pool.submit(pool_request(7, "chatter"));
  pool.submit(pool_request(8, "v8"));
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 8U);
  for (const std::int64_t id : {1, 3, 7, 8}) EXPECT_EQ(replies[id].outcome, Outcome::ok) << id;
  for (const std::int64_t id : {2, 5, 6}) {
    EXPECT_EQ(replies[id].outcome, Outcome::compile_failed) << id;
  }
  EXPECT_EQ(replies[4].outcome, Outcome::timeout);
  EXPECT_EQ(replies[2].message,
            "compile worker: killed by signal 11 (Segmentation fault): "
            "block (3,0,0) thread 5: byte 64 of a buffer of 64");
  EXPECT_EQ(replies[4].message, "the compiler was not done within 400ms");
  EXPECT_THAT(replies[5].message, HasSubstr("not JSON"));
  EXPECT_THAT(replies[6].message, HasSubstr("something else"));
}

TEST(CompilePool, ItGoesOnAfterItWasEmpty) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "crash"));
  EXPECT_EQ(drain(pool).size(), 1U);
  pool.submit(pool_request(2, "v2"));
  EXPECT_EQ(drain(pool)[2].outcome, Outcome::ok);
}

TEST(CompilePool, WhatTheMachineDoesIsTriedTwiceAndNotCharged) {
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  pool.submit(pool_request(1, "v1"));
  pool.submit(pool_request(2, "no space unless fresh"));
  pool.submit(pool_request(3, "crash unless fresh"));
  pool.submit(pool_request(4, "killed unless fresh"));
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 4U);
  for (const auto& [id, reply] : replies) EXPECT_EQ(reply.outcome, Outcome::ok) << id;

  pool.submit(pool_request(5, "no space"));
  Status status = next(pool).status();
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_THAT(status.message(), HasSubstr("cannot write /tmp/x: No space left on device\n"));
  EXPECT_THAT(status.message(), HasSubstr("while compiling no space"));
  EXPECT_EQ(pool.pending(), 0U);
  pool.submit(pool_request(6, "wrong word"));
  status = next(pool).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  pool.submit(pool_request(7, "v7"));
  EXPECT_EQ(drain(pool)[7].outcome, Outcome::ok);
}

TEST(CompilePool, KilledTwiceWhileOthersCompileIsTheVariants) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "killed"));
  pool.submit(pool_request(2, "v2"));
  pool.submit(pool_request(3, "killed"));
  pool.submit(pool_request(4, "v4"));
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 4U);
  for (const std::int64_t id : {2, 4}) EXPECT_EQ(replies[id].outcome, Outcome::ok) << id;
  for (const std::int64_t id : {1, 3}) {
    EXPECT_EQ(replies[id].kind, WorkReply::Kind::done);
    EXPECT_EQ(replies[id].outcome, Outcome::compile_failed) << id;
    EXPECT_EQ(replies[id].failure, StatusCode::environment) << "not to be remembered";
    EXPECT_FALSE(replies[id].build.has_value());
    EXPECT_THAT(replies[id].message, HasSubstr("killed by signal 9 (Killed)"));
    EXPECT_THAT(replies[id].message, HasSubstr("while other variants compile"));
  }
  EXPECT_EQ(pool.pending(), 0U);
}

TEST(CompilePool, ASuspectWaitsForAnotherToCompile) {
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  pool.submit(pool_request(1, "killed"));
  pool.submit(pool_request(2, "refused"));  // what NVRTC says when it finds no memory
  pool.submit(pool_request(3, "v3"));
  EXPECT_EQ(next(pool).value()->id, 3);
  EXPECT_EQ(pool.pending(), 2U);
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  EXPECT_EQ(replies[1].outcome, Outcome::compile_failed);
  EXPECT_EQ(replies[2].outcome, Outcome::compile_failed);
}

TEST(CompilePool, WhereNothingCompilesItIsTheMachine) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "killed"));
  pool.submit(pool_request(2, "killed"));
  const Status status = next(pool).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("killed by signal 9"));
  EXPECT_THAT(status.message(), HasSubstr("is the machine short of memory?"));
  EXPECT_THAT(status.message(), HasSubstr("nothing is recorded for it"));
  EXPECT_EQ(pool.pending(), 0U);
  pool.submit(pool_request(3, "v3"));
  EXPECT_EQ(drain(pool)[3].outcome, Outcome::ok);
}

TEST(CompilePool, ManySuspectsInARowAreTheMachine) {
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  pool.submit(pool_request(1, "v1"));
  for (std::int64_t id = 2; id < 12; ++id) pool.submit(pool_request(id, "killed"));
  EXPECT_EQ(next(pool).value()->id, 1);
  for (std::int64_t id = 2; id < 9; ++id) {
    EXPECT_EQ(next(pool).value()->outcome, Outcome::compile_failed) << id;
  }
  EXPECT_EQ(next(pool).status().code(), StatusCode::environment);
}

TEST(CompilePool, TheSecondTimeNoOtherCompilerRuns) {
  const TestFolder folder;
  const std::string file = folder.file("busy");
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "busy " + file));
  pool.submit(pool_request(2, "killed beside " + file));
  pool.submit(pool_request(3, "busy " + file));
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 3U);
  for (const auto& [id, reply] : replies) EXPECT_EQ(reply.outcome, Outcome::ok) << id;
}

TEST(CompilePool, WorkersThatNeverBeginAreAFailureOfTheEnvironment) {
  CompilePool pool({fake_worker_path(), "dead"}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "v1"));
  const Result<std::optional<WorkReply>> reply = next(pool);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.status().code(), StatusCode::environment);
  EXPECT_THAT(reply.status().message(), HasSubstr("no compile worker begins its work (3 tried)"));
  EXPECT_THAT(reply.status().message(), HasSubstr("(exited with 4: no device here)"));
}

TEST(CompilePool, AMissingProgramIsNamed) {
  CompilePool pool({"/no/such/program"}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "v1"));
  EXPECT_THAT(next(pool).status().message(), HasSubstr("cannot run '/no/such/program'"));
}

// How often the workers' log says that something began.
int begun(const std::string& log, const std::string& kind) {
  std::ifstream file(log);
  int count = 0;
  for (std::string line; std::getline(file, line);) count += line.starts_with(kind + " begins");
  return count;
}

TEST(CompilePool, OneProbeClearsTheMachineOfManyFailures) {
  const TestFolder folder;
  const Variable log("FAKE_WORKER_LOG", folder.file("log"));
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  for (std::int64_t id = 1; id < 11; ++id) pool.submit(pool_request(id, "broken"));
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 10U);
  for (const auto& [id, reply] : replies) {
    EXPECT_EQ(reply.outcome, Outcome::compile_failed);
    EXPECT_EQ(reply.failure, StatusCode::ok) << "it is remembered";
    EXPECT_EQ(reply.message, "error: it is broken");
  }
  EXPECT_EQ(begun(folder.file("log"), "compile"), 10);
  EXPECT_EQ(begun(folder.file("log"), "probe"), 1);
  EXPECT_EQ(pool.pending(), 0U);
}

TEST(CompilePool, NobodyIsBlamedWhereAGoodSourceDoesNotCompile) {
  const TestFolder folder;
  const std::string gone = folder.file("gone");
  const Variable no_headers("FAKE_WORKER_NO_HEADERS", gone);
  CompilePool pool({fake_worker_path()}, 2, milliseconds(3000));
  pool.submit(pool_request(1, "v1"));
  EXPECT_EQ(drain(pool)[1].outcome, Outcome::ok);
  std::ofstream(gone) << "yes";
  for (std::int64_t id = 2; id < 6; ++id) pool.submit(pool_request(id, "v"));
  const Status status = next(pool).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("known_good.cu: cuda_fp16.h: No such file"));
  EXPECT_THAT(status.message(), HasSubstr("nothing is recorded for it"));
}

TEST(CompilePool, AWorkerThatLostItsFolderIsReplaced) {
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  pool.submit(pool_request(1, "v1"));
  pool.submit(pool_request(2, "loses its folder"));
  pool.submit(pool_request(3, "v3"));
  pool.submit(pool_request(4, "broken"));
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 4U);
  for (const std::int64_t id : {1, 2, 3}) EXPECT_EQ(replies[id].outcome, Outcome::ok) << id;
  EXPECT_EQ(replies[4].outcome, Outcome::compile_failed);
}

TEST(CompilePool, ANewWorkerProvesNothingAboutTheOneBefore) {
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  pool.submit(pool_request(1, "v1"));
  pool.submit(pool_request(2, "loses its folder"));
  pool.submit(pool_request(3, "crash unless fresh"));
  std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 3U);
  for (const auto& [id, reply] : replies) EXPECT_EQ(reply.outcome, Outcome::ok) << id;
}

TEST(CompilePool, ASuspectIsNotChargedWhereAGoodSourceDoesNotCompile) {
  const TestFolder folder;
  const std::string gone = folder.file("gone");
  const Variable no_headers("FAKE_WORKER_NO_HEADERS", gone);
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  pool.others_compile();
  std::ofstream(gone) << "yes";
  pool.submit(pool_request(1, "refused"));
  const Status status = next(pool).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
}

TEST(CompilePool, AStoppedCompilerIsTriedAgainAlone) {
  CompilePool pool({fake_worker_path()}, 2, milliseconds(1000));
  pool.submit(pool_request(1, "v1"));
  pool.submit(pool_request(2, "v2"));
  EXPECT_EQ(drain(pool).size(), 2U);
  pool.submit(pool_request(3, "stopped unless fresh"));
  const std::map<std::int64_t, WorkReply> replies = drain(pool);
  ASSERT_TRUE(replies.contains(3));
  EXPECT_EQ(replies.at(3).outcome, Outcome::ok) << replies.at(3).message;
}

TEST(CompilePool, WhatIsPausedStartsNothing) {
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000));
  pool.pause(true);
  pool.submit(pool_request(1, "v1"));
  EXPECT_TRUE(pool.is_quiet());
  EXPECT_FALSE(pool.poll()->has_value());
  pool.pause(false);
  EXPECT_FALSE(pool.is_quiet());
  EXPECT_EQ(drain(pool)[1].outcome, Outcome::ok);
}

}  // namespace
}  // namespace mgtune
