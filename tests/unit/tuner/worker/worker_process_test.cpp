// What a worker makes of its variants is in worker_run_test.cpp and compile_pool_test.cpp;
// here is that nothing waits.

#include "worker/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
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

TEST(WorkerProcess, AProgramThatDoesNotRunShowsInPoll) {
  WorkerProcess worker({"/no/such/program"}, milliseconds(1000));
  worker.submit(request(1, "v1"));
  EXPECT_THAT(worker.poll().status().message(), HasSubstr("cannot run '/no/such/program'"));
  EXPECT_TRUE(worker.is_idle());
  EXPECT_EQ(worker.return_unstarted().request.id, 1) << "another worker may do it";
}

}  // namespace
}  // namespace mgtune
