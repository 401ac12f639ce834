// What a worker makes of its variants is in worker_run_test.cpp and compile_pool_test.cpp;
// here is that nothing waits.

#include "worker/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using ::testing::EndsWith;
using ::testing::HasSubstr;

WorkerProcess::Task request(std::int64_t id, const std::string& variant) {
  WorkerProcess::Task task;
  task.request = {id, MeasureRequest{{{}, variant}, 0}};
  return task;
}

// Waits as an event loop does, and counts how often it looked.
WorkReply end_of(WorkerProcess& worker, int* looks = nullptr) {
  while (true) {
    if (looks != nullptr) ++*looks;
    const Result<std::optional<WorkerProcess::Finished>> finished = worker.poll();
    EXPECT_TRUE(finished.ok()) << finished.status().message();
    if (!finished.ok()) return {};
    if (finished->has_value()) return (*finished)->reply;
    WaitSet waiting;
    worker.join(waiting);
    waiting.wait();
  }
}

TEST(WorkerProcess, NothingIsStartedForNothing) {
  WorkerProcess worker({"/no/such/program"}, milliseconds(1000));
  EXPECT_TRUE(worker.is_idle());
  EXPECT_FALSE(worker.poll()->has_value());
  WaitSet waiting;
  worker.join(waiting);
  waiting.wait();  // for ever if it had joined
}

TEST(WorkerProcess, TwoAreAtWorkAtTheSameTime) {
  std::array<WorkerProcess, 2> workers = {
      WorkerProcess({fake_worker_path()}, milliseconds(10'000)),
      WorkerProcess({fake_worker_path()}, milliseconds(10'000))};
  const Clock::time_point start = Clock::now();
  workers[0].submit(request(1, "hang"));
  workers[1].submit(request(2, "v2"));
  EXPECT_FALSE(workers[0].is_idle());
  EXPECT_EQ(end_of(workers[1]).id, 2);
  EXPECT_TRUE(workers[1].is_idle());
  EXPECT_FALSE(workers[0].poll()->has_value());
  EXPECT_FALSE(workers[0].is_idle());
  EXPECT_LT(Clock::now() - start, milliseconds(10'000));
}

TEST(WorkerProcess, TheLoopSleepsUntilThereIsNews) {
  WorkerProcess worker({fake_worker_path()}, milliseconds(10'000));
  worker.submit(request(1, "slow"));
  int looks = 0;
  EXPECT_EQ(end_of(worker, &looks).outcome, Outcome::ok);
  EXPECT_LT(looks, 10);
}

TEST(WorkerProcess, ARetryAndADeadlineComeAboutByPolling) {
  WorkerProcess worker({fake_worker_path()}, milliseconds(300));
  worker.submit(request(1, "v1"));
  EXPECT_EQ(end_of(worker).outcome, Outcome::ok);
  worker.submit(request(2, "crash unless fresh"));
  EXPECT_EQ(end_of(worker).outcome, Outcome::ok);
  EXPECT_EQ(worker.restarts(), 1);
  worker.submit(request(3, "hang"));
  EXPECT_EQ(end_of(worker).outcome, Outcome::timeout);
  worker.submit(request(4, "v4"));
  EXPECT_EQ(end_of(worker).id, 4);
}

TEST(WorkerProcess, AfterAFailureOfTheMachineItIsIdleAgain) {
  WorkerProcess worker({fake_worker_path()}, milliseconds(10'000));
  worker.submit(request(1, "no space"));
  const WorkReply reply = end_of(worker);
  EXPECT_EQ(reply.kind, WorkReply::Kind::failed);
  EXPECT_EQ(reply.failure, StatusCode::io);
  EXPECT_EQ(worker.restarts(), 1);
  EXPECT_TRUE(worker.is_idle());
  worker.submit(request(2, "v2"));
  EXPECT_EQ(end_of(worker).id, 2);
}

TEST(WorkerProcess, ThreeMoreRequestsFollowTheFirst) {
  WorkerProcess worker({fake_worker_path()}, milliseconds(10'000));
  worker.submit(request(1, "slow"));
  for (std::int64_t id = 2; id <= 4; ++id) {
    ASSERT_TRUE(worker.has_room());
    worker.submit(request(id, "v"));
  }
  EXPECT_FALSE(worker.has_room());
  for (std::int64_t id = 1; id <= 6; ++id) {
    EXPECT_FALSE(worker.is_idle());
    EXPECT_EQ(end_of(worker).id, id);
    ASSERT_TRUE(worker.has_room());
    if (id <= 2) worker.submit(request(id + 4, "v"));
  }
  EXPECT_TRUE(worker.is_idle());
  EXPECT_EQ(worker.restarts(), 0);
}

TEST(WorkerProcess, WhatEndsItsWorkerIsTheOneThatWasAtWork) {
  for (const char* culprit : {"crash", "exit", "garbage", "hang", "crash unless fresh"}) {
    SCOPED_TRACE(culprit);
    const std::string word = culprit;
    const Outcome expected = word == "hang"                 ? Outcome::timeout
                             : word == "crash unless fresh" ? Outcome::ok
                                                            : Outcome::crashed;
    WorkerProcess worker({fake_worker_path()}, milliseconds(500));
    worker.submit(request(1, "v1"));
    worker.submit(request(2, culprit));
    worker.submit(request(3, "v3"));
    worker.submit(request(4, culprit));
    EXPECT_EQ(end_of(worker).outcome, Outcome::ok);
    worker.submit(request(5, "v5"));
    for (std::int64_t id = 2; id <= 5; ++id) {
      const WorkReply reply = end_of(worker);
      EXPECT_EQ(reply.id, id);
      EXPECT_EQ(reply.outcome, id % 2 == 0 ? expected : Outcome::ok) << id;
    }
    EXPECT_TRUE(worker.is_idle());
  }
}

TEST(WorkerProcess, ARetryHasItsWorkerForItself) {
  const TestFolder folder;
  const Variable log("FAKE_WORKER_LOG", folder.file("log"));
  WorkerProcess worker({fake_worker_path()}, milliseconds(10'000));
  worker.submit(request(1, "v1"));
  EXPECT_EQ(end_of(worker).id, 1);
  worker.submit(request(2, "killed unless fresh"));
  worker.submit(request(3, "v3"));
  EXPECT_EQ(end_of(worker).outcome, Outcome::ok);
  EXPECT_EQ(end_of(worker).id, 3);
  EXPECT_EQ(worker.restarts(), 1);
  std::ifstream lines(folder.file("log"));
  const std::string all((std::istreambuf_iterator<char>(lines)), {});
  EXPECT_LT(all.find("is done 0  none killed unless fresh"), all.find("begins 0  none v3")) << all;
}

TEST(WorkerProcess, ACrashMessageIsOfTheRequestThatCrashed) {
  WorkerProcess worker({fake_worker_path()}, milliseconds(10'000));
  worker.submit(request(1, "chatter"));
  worker.submit(request(2, "v2"));
  EXPECT_EQ(end_of(worker).id, 1);
  worker.submit(request(3, "v3"));
  EXPECT_EQ(end_of(worker).id, 2);
  worker.submit(request(4, "crash"));
  EXPECT_EQ(end_of(worker).id, 3);
  EXPECT_THAT(end_of(worker).message,
              EndsWith("block (3,0,0) thread 5: byte 64 of a buffer of 64"));
}

// Here too this process reads what the worker wrote when it has ended, three requests later.
TEST(WorkerProcess, ACrashMessageIsOfTheRequestThatCrashedHoweverLateItIsRead) {
  WorkerProcess worker({fake_worker_path()}, milliseconds(10'000));
  worker.submit(request(1, "v1"));
  EXPECT_EQ(end_of(worker).id, 1);
  worker.submit(request(2, "slow"));
  worker.submit(request(3, "v3"));
  worker.submit(request(4, "v4"));
  worker.submit(request(5, "crash"));
  EXPECT_FALSE(worker.poll()->has_value());
  WaitSet begun;
  worker.join(begun);
  begun.wait();
  std::vector<std::int64_t> ended;
  // The first has begun, and all are sent. It is done already if this process had to wait.
  const auto early = worker.poll();
  if (early->has_value()) ended.push_back((*early)->reply.id);
  siginfo_t end;
  ASSERT_EQ(::waitid(P_ALL, 0, &end, WEXITED | WNOWAIT), 0);
  while (ended.size() < 3) ended.push_back(end_of(worker).id);
  EXPECT_THAT(ended, testing::ElementsAre(2, 3, 4));
  worker.submit(request(6, "crash"));
  EXPECT_THAT(end_of(worker).message,
              EndsWith("block (3,0,0) thread 5: byte 64 of a buffer of 64"));
}

TEST(WorkerProcess, WhatWouldComeNextCanGoToAnotherWorker) {
  WorkerProcess worker({fake_worker_path(), "dead"}, milliseconds(10'000));
  worker.submit(request(1, "v1"));
  worker.submit(request(2, "v2"));
  worker.submit(request(3, "v3"));
  EXPECT_FALSE(wait_for_next(worker).ok());
  EXPECT_EQ(worker.return_unstarted().request.id, 1);
  const std::vector<WorkerProcess::Task> next = worker.return_next();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].request.id, 2);
  EXPECT_EQ(next[1].request.id, 3);
  EXPECT_TRUE(worker.is_idle());
  EXPECT_TRUE(worker.return_next().empty());
}

TEST(WorkerProcess, AProgramThatDoesNotRunShowsInPoll) {
  WorkerProcess worker({"/no/such/program"}, milliseconds(1000));
  worker.submit(request(1, "v1"));
  EXPECT_THAT(worker.poll().status().message(), HasSubstr("cannot run '/no/such/program'"));
  EXPECT_TRUE(worker.is_idle());
  EXPECT_EQ(worker.return_unstarted().request.id, 1) << "another worker may do it";
}

}  // namespace
}  // namespace mgtune
