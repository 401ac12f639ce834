// One worker for each of several GPUs, which crash, hang and fall ill.

#include "measure/measure_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

MeasurePool pool(const std::vector<std::string>& ids, milliseconds deadline = milliseconds(3000)) {
  std::vector<DeviceInfo> devices;
  for (const std::string& id : ids) {
    DeviceInfo& device = devices.emplace_back();
    device.id = id;
    device.name = "NVIDIA H200";
    device.index = static_cast<int>(devices.size()) - 1;
  }
  return {fake_worker_path(), devices, {"rotating", ""}, deadline};
}

// Everything of `variants`, submitted as there is room if `left` variants are left, by variant.
Result<std::map<std::string, WorkReply>> run(MeasurePool& workers,
                                             const std::vector<std::string>& variants,
                                             std::size_t left = 1) {
  std::map<std::int64_t, std::string> at_work;
  std::map<std::string, WorkReply> replies;
  std::int64_t next = 0;
  while (replies.size() < variants.size()) {
    while (workers.has_room({}, left) && next < std::ssize(variants)) {
      at_work[next] = variants[std::size_t(next)];
      workers.submit({next, MeasureRequest{{{}, at_work[next]}, 0}});
      ++next;
    }
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, wait_for_next(workers));
    replies[at_work.at(reply->id)] = *std::move(reply);
  }
  return replies;
}

// As a sweep does that has nothing else at work.
Result<WorkReply> next_alone(MeasurePool& workers) {
  while (true) {
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, workers.poll());
    if (reply) return *std::move(reply);
    workers.start_alone();
    WaitSet waiting;
    workers.join(waiting);
    waiting.wait();
  }
}

TEST(MeasurePool, AllGpusAreAtWorkAtTheSameTime) {
  MeasurePool workers = pool({"GPU-0", "GPU-1", "GPU-2", "GPU-3"}, milliseconds(10'000));
  EXPECT_EQ(workers.size(), 4U);
  for (std::int64_t id = 0; id < 4; ++id) {
    ASSERT_TRUE(workers.has_room({}, 1));
    workers.submit({id, MeasureRequest{{{}, id == 3 ? "v" : "hang"}, 0}});
  }
  std::optional<WorkReply> reply;
  while (!reply) {
    WaitSet waiting;
    workers.join(waiting);
    waiting.wait();
    reply = workers.poll().value();
  }
  EXPECT_EQ(reply->id, 3);
}

TEST(MeasurePool, AGpuIsIdleIfItIsUsedAndHasNothingToDo) {
  using Place = MeasurePool::Place;
  MeasurePool workers = pool({"GPU-0", "GPU-1"});
  EXPECT_TRUE(workers.has_idle(Place::any));
  workers.submit({1, MeasureRequest{{{}, "a"}, 0}}, Place::not_first);
  EXPECT_TRUE(workers.has_idle(Place::any));
  EXPECT_FALSE(workers.has_idle(Place::not_first)) << "the first one is";
  workers.submit({2, MeasureRequest{{{}, "b"}, 0}});
  EXPECT_FALSE(workers.has_idle(Place::any));

  MeasurePool sick = pool({"sick GPU-0", "GPU-1"});
  ASSERT_TRUE(run(sick, {"a", "slow"}).ok());
  ASSERT_EQ(sick.left_alone().size(), 1U);
  EXPECT_TRUE(sick.has_idle(Place::any));
  sick.submit({9, MeasureRequest{{{}, "b"}, 0}});
  EXPECT_FALSE(sick.has_idle(Place::any)) << "the other one is not used any more";
}

TEST(MeasurePool, AWorkerHasOneMoreMeasurementOfItsProblem) {
  MeasurePool workers = pool({"GPU-0", "GPU-1"});
  const NamedProblem other{"family", "family.add", "n=7"};
  std::int64_t id = 0;
  for (const bool has_room_for_other : {true, true, false, false}) {
    EXPECT_EQ(workers.has_room(other, 1), has_room_for_other) << id;
    ASSERT_TRUE(workers.has_room({}, 1)) << id;
    workers.submit({id++, MeasureRequest{{{}, "slow"}, 0}});
  }
  EXPECT_FALSE(workers.has_room({}, 1));
  std::set<std::int64_t> done;
  while (done.size() < 4) {
    const Result<std::optional<WorkReply>> reply = wait_for_next(workers);
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ((*reply)->outcome, Outcome::ok);
    done.insert((*reply)->id);
    EXPECT_TRUE(workers.has_room({}, 1));
    EXPECT_EQ(workers.has_room(other, 1), done.size() >= 3) << "an idle worker alone takes it";
  }
}

// How many requests the workers take of a problem whose last measurement took so long.
int requests_at_once(const std::vector<std::string>& ids, const char* text, std::size_t left) {
  const Variable took("FAKE_WORKER_SECONDS", text);
  MeasurePool workers = pool(ids);
  std::int64_t id = 0;
  for (const std::string& each : ids) workers.submit({id++, MeasureRequest{{{}, each}, 0}});
  for (std::int64_t done = 0; done < id; ++done) EXPECT_TRUE(wait_for_next(workers).ok());
  int requests = 0;
  for (; workers.has_room({}, left) && requests < 100; ++requests) {
    workers.submit({id++, MeasureRequest{{{}, "v"}, 0}});
  }
  return requests;
}

TEST(MeasurePool, MoreMeasurementsWaitAtAWorkerIfTheyAreShort) {
  EXPECT_EQ(requests_at_once({"GPU-0"}, "0.004", 1), 4);
  EXPECT_EQ(requests_at_once({"GPU-0"}, "0", 1), 4);
  EXPECT_EQ(requests_at_once({"GPU-0"}, "0.0075", 1), 3) << "two of them take 15 ms";
  EXPECT_EQ(requests_at_once({"GPU-0"}, "0.012", 1), 2);
  EXPECT_EQ(requests_at_once({"GPU-0"}, "3", 1), 2);
  EXPECT_EQ(requests_at_once({"GPU-0"}, "", 1), 2) << "nobody knows";
}

TEST(MeasurePool, OfSeveralGpusNoneHoldsTheLastVariantsOfAProblem) {
  EXPECT_EQ(requests_at_once({"GPU-0", "GPU-1"}, "0.004", 100), 8);
  EXPECT_EQ(requests_at_once({"GPU-0", "GPU-1"}, "0.004", 11), 6);
  EXPECT_EQ(requests_at_once({"GPU-0", "GPU-1"}, "0.004", 7), 4);
  EXPECT_EQ(requests_at_once({"GPU-0", "GPU-1"}, "0.004", 1), 4);
}

TEST(MeasurePool, ARequestWaitsWhereTheFewestDo) {
  const TestFolder folder;
  const Variable log("FAKE_WORKER_LOG", folder.file("log"));
  const Variable took("FAKE_WORKER_SECONDS", "0.004");
  MeasurePool workers = pool({"GPU-0", "GPU-1"});
  std::vector<std::string> many;
  for (int i = 0; i < 2; ++i) many.push_back("first " + std::to_string(i));
  ASSERT_TRUE(run(workers, many).ok());
  for (std::int64_t id = 10; id < 18; ++id) {
    ASSERT_TRUE(workers.has_room({}, 100));
    workers.submit({id, MeasureRequest{{{}, "counted"}, 0}});
  }
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(wait_for_next(workers).ok());
  std::ifstream lines(folder.file("log"));
  std::map<std::string, int> counted;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("begins") == std::string::npos || !line.ends_with("counted")) continue;
    ++counted[line.find("GPU-0") == std::string::npos ? "GPU-1" : "GPU-0"];
  }
  EXPECT_EQ(counted["GPU-0"], 4);
  EXPECT_EQ(counted["GPU-1"], 4);
}

// All that wait there, and the reply of each comes once.
TEST(MeasurePool, AllThatWaitAtAGpuThatIsLeftAloneGoToAnother) {
  const TestFolder folder;
  const Variable harm("FAKE_WORKER_HARM", folder.file("harm"));
  const Variable took("FAKE_WORKER_SECONDS", "0.001");
  MeasurePool workers = pool({"GPU-0-frail", "GPU-1"});
  std::vector<std::string> many = {"a", "b", "harms"};
  for (int i = 0; i < 12; ++i) many.push_back("v" + std::to_string(i));
  const auto replies = run(workers, many, 100);
  ASSERT_TRUE(replies.ok()) << replies.status().message();
  EXPECT_EQ(replies->size(), many.size());
  for (const auto& [variant, reply] : *replies) {
    EXPECT_EQ(reply.outcome, variant == "harms" ? Outcome::crashed : Outcome::ok) << variant;
  }
}

TEST(MeasurePool, WhatEndsItsWorkerAmongOthersIsMeasuredAloneAndTheOthersOnce) {
  const Variable killed("FAKE_WORKER_KILLED", "kills");
  const Variable took("FAKE_WORKER_SECONDS", "0.001");
  MeasurePool workers = pool({"GPU-0"});
  ASSERT_TRUE(run(workers, {"first"}).ok());
  std::map<std::int64_t, std::string> variants = {{1, "a"}, {2, "kills"}, {3, "b"}, {4, "c"}};
  for (const auto& [id, variant] : variants) {
    ASSERT_TRUE(workers.has_room({}, 1));
    workers.submit({id, MeasureRequest{{{}, variant}, 0}});
  }
  std::vector<std::int64_t> order;
  while (order.size() < 4) {
    const Result<WorkReply> reply = next_alone(workers);
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    order.push_back(reply->id);
    EXPECT_EQ(reply->outcome, reply->id == 2 ? Outcome::crashed : Outcome::ok) << reply->id;
  }
  EXPECT_EQ(order, (std::vector<std::int64_t>{1, 3, 4, 2}));
}

TEST(MeasurePool, AFinalWaitsForBothOfItsWorker) {
  MeasurePool workers = pool({"GPU-0"});
  workers.submit({0, MeasureRequest{{{}, "slow"}, 0}});
  workers.submit({1, MeasureRequest{{{}, "a"}, 0}});
  const Result<WorkReply> reply = workers.measure({2, ProbeRequest{"measure"}});
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(reply->id, 2);
  EXPECT_EQ(workers.poll()->value().id, 0);
  EXPECT_EQ(workers.poll()->value().id, 1);
}

// The request that a worker has besides the one that is at work goes where that one goes.
TEST(MeasurePool, WhatAGpuThatIsLeftAloneHasGoesToAnother) {
  MeasurePool workers = pool({"GPU-0", "GPU-1"});
  const auto replies = run(workers, {"slow", "refused", "a", "b", "c"});
  EXPECT_EQ(replies.status().code(), StatusCode::environment) << "refused on both";
  MeasurePool well = pool({"GPU-0-sick", "GPU-1"});
  std::vector<std::string> many;
  for (int i = 0; i < 12; ++i) many.push_back("v" + std::to_string(i));
  const auto all = run(well, many);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->size(), many.size());
}

// When a GPU began its second request is what its worker says, and the phases add up.
TEST(MeasurePool, ThePhasesOfRequestsInARowAddUp) {
  MeasurePool workers = pool({"GPU-0"});
  ASSERT_TRUE(run(workers, {"a", "crash unless fresh", "b", "slow", "exit", "c"}).ok());
  const auto now = GpuTimes::Clock::now();
  const GpuTimes::Times times = workers.times().of(0, now);
  EXPECT_EQ(std::accumulate(times.begin(), times.end(), GpuTimes::Clock::duration::zero()),
            workers.times().wall(now));
}

// What the worker says that it took in all, less its parts, is its own; the rest of the time its
// reply waited for this process.
TEST(MeasurePool, TheRestOfAWorkersTimeIsNoHandover) {
  const Variable took("FAKE_WORKER_SECONDS", "0.01");
  const Variable sleeps("FAKE_WORKER_MEASURE_MS", "30");
  MeasurePool workers = pool({"GPU-0"});
  ASSERT_TRUE(run(workers, {"a"}).ok());  // its worker starts
  ASSERT_TRUE(run(workers, {"b"}).ok());
  const GpuTimes::Times times = workers.times().of(0);
  EXPECT_EQ(times[static_cast<std::size_t>(GpuPhase::unload)], milliseconds(2 * 10));
  EXPECT_GE(times[static_cast<std::size_t>(GpuPhase::handover)], milliseconds(30 - 10));
}

// A worker that starts has a second request too, but what its worker took does not say when it
// began the first one.
TEST(MeasurePool, TheStartOfAWorkerCountsAsSuchIfMoreRequestsWait) {
  const Variable took("FAKE_WORKER_SECONDS", "0.01");
  const Variable sleeps("FAKE_WORKER_MEASURE_MS", "30");
  MeasurePool workers = pool({"GPU-0"});
  ASSERT_TRUE(run(workers, {"a", "b"}).ok());
  const GpuTimes::Times times = workers.times().of(0);
  EXPECT_GE(times[static_cast<std::size_t>(GpuPhase::start)], milliseconds(30 - 10));
}

TEST(MeasurePool, ACrashOrHangIsItsVariantsAlone) {
  MeasurePool workers = pool({"GPU-0", "GPU-1"}, milliseconds(800));
  const auto replies =
      run(workers, {"a", "crash", "b", "hang", "c", "garbage", "d", "e", "crash unless fresh"});
  ASSERT_TRUE(replies.ok()) << replies.status().message();
  for (const auto& [variant, reply] : *replies) {
    const Outcome expected = variant == "hang"                            ? Outcome::timeout
                             : variant == "crash" || variant == "garbage" ? Outcome::crashed
                                                                          : Outcome::ok;
    EXPECT_EQ(reply.outcome, expected) << variant;
  }
  EXPECT_THAT(workers.left_alone(), IsEmpty());
}

// Opening a GPU takes a while, so all do that at the same time.
TEST(MeasurePool, TheWorkersOfAllGpusStartWithTheFirstRequest) {
  const TestFolder folder;
  const Variable starts("FAKE_WORKER_STARTS", folder.file("starts"));
  MeasurePool workers = pool({"GPU-0", "GPU-1"}, milliseconds(60'000));
  ASSERT_TRUE(workers.measure({1, MeasureRequest{{{}, "v"}, 0}}).ok());
  const auto count = [&] {
    std::ifstream lines(folder.file("starts"));
    int lines_found = 0;
    for (std::string line; std::getline(lines, line);) ++lines_found;
    return lines_found;
  };
  for (int i = 0; i < 60'000 && count() < 2; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(count(), 2);
}

// A sweep can do without it.
TEST(MeasurePool, AFinalThatNoWorkerBeginsIsAReply) {
  MeasurePool workers = pool({"GPU-0-sick"});
  workers.submit({7, FinalRequest{{}, {"v", "w"}, 0}});
  const Result<std::optional<WorkReply>> reply = wait_for_next(workers);
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ((*reply)->id, 7);
  EXPECT_EQ((*reply)->kind, WorkReply::Kind::failed);
  EXPECT_THAT((*reply)->message, HasSubstr("no measure worker begins its work"));
}

TEST(MeasurePool, AGpuThatIsNotWellIsLeftAlone) {
  MeasurePool workers = pool({"GPU-0-sick", "GPU-1", "GPU-2-sick"});
  const auto replies = run(workers, {"a", "b", "c", "d", "e"});
  ASSERT_TRUE(replies.ok()) << replies.status().message();
  for (const auto& [variant, reply] : *replies) EXPECT_EQ(reply.outcome, Outcome::ok) << variant;
  EXPECT_THAT(
      workers.left_alone(),
      UnorderedElementsAre(
          AllOf(StartsWith("NVIDIA H200 (0): no measure worker begins its work (3 tried): "),
                HasSubstr("(exited with 4: GPU-0-sick does not work)")),
          AllOf(StartsWith("NVIDIA H200 (2): "), HasSubstr("GPU-2-sick does not work)"))));
}

TEST(MeasurePool, TheLastGpusFailureEndsTheSweep) {
  MeasurePool workers = pool({"GPU-0-sick", "GPU-1-sick"});
  const Status status = run(workers, {"a", "b"}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("sick does not work"));
  EXPECT_EQ(workers.left_alone().size(), 1U);
}

TEST(MeasurePool, WhatHarmsAGpuIsTriedOnceMoreElsewhereAndRecorded) {
  const TestFolder folder;
  const Variable harm("FAKE_WORKER_HARM", folder.file("harm"));
  MeasurePool workers = pool({"GPU-0-frail", "GPU-1"});
  const auto replies = run(workers, {"harms", "a", "b", "c"});
  ASSERT_TRUE(replies.ok()) << replies.status().message();
  EXPECT_EQ(replies->at("harms").outcome, Outcome::crashed) << "its second crash, on the other GPU";
  for (const char* variant : {"a", "b", "c"}) EXPECT_EQ(replies->at(variant).outcome, Outcome::ok);
  ASSERT_EQ(workers.left_alone().size(), 1U);
  EXPECT_THAT(workers.left_alone()[0], HasSubstr("GPU-0-frail does not work"));
}

TEST(MeasurePool, WhatTheMachineDoesTwiceOnOneGpuIsTriedOnAnother) {
  MeasurePool one = pool({"GPU-0"});
  EXPECT_EQ(run(one, {"refused"}).status().code(), StatusCode::environment);
  MeasurePool two = pool({"GPU-0", "GPU-1"});
  const Status status = run(two, {"refused"}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(two.left_alone().size(), 1U);
  MeasurePool full_disk = pool({"GPU-0", "GPU-1"});
  EXPECT_EQ(run(full_disk, {"no space"}).status().code(), StatusCode::io);
  EXPECT_THAT(full_disk.left_alone(), IsEmpty()) << "the disk is every GPU's";
}

TEST(MeasurePool, WaitingForOneUsesTheFirstThatIsWell) {
  MeasurePool workers = pool({"GPU-0-sick", "GPU-1"});
  const Result<WorkReply> reply = workers.measure({0, MeasureRequest{{{}, "v"}, 0}});
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(reply->outcome, Outcome::ok);
  EXPECT_EQ(workers.left_alone().size(), 1U);
}

TEST(MeasurePool, AMissingProgramIsNamed) {
  MeasurePool workers("/no/such/program", {DeviceInfo()}, {"rotating", ""}, milliseconds(3000));
  EXPECT_THAT(workers.measure({}).status().message(), HasSubstr("cannot run '/no/such/program'"));
}

WorkRequest measure_request(std::int64_t id, const std::string& variant) {
  return {id, MeasureRequest{{{}, variant}, 0}};
}

TEST(MeasurePool, WhatEndsItsWorkerAlsoAloneIsTheVariants) {
  const Variable killed("FAKE_WORKER_KILLED", "kills");
  MeasurePool workers = pool({"GPU-0", "GPU-1"});
  for (const char* variant : {"kills", "kills by SIGTERM"}) {
    workers.submit(measure_request(1, variant));
    const Result<WorkReply> reply = next_alone(workers);
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ(reply->id, 1);
    EXPECT_EQ(reply->outcome, Outcome::crashed);
    EXPECT_EQ(reply->failure, StatusCode::environment) << "the caller asks whether others live";
    EXPECT_THAT(reply->message, HasSubstr("the measure worker was killed by signal "));
    EXPECT_THAT(reply->message, HasSubstr("nothing else of the sweep was running"));
  }
  EXPECT_THAT(workers.left_alone(), IsEmpty());
  workers.submit(measure_request(2, "a"));
  EXPECT_EQ(next_alone(workers)->outcome, Outcome::ok);
}

TEST(MeasurePool, WhatWasKilledWaitsForSilence) {
  const Variable killed("FAKE_WORKER_KILLED", "kills");
  MeasurePool workers = pool({"GPU-0", "GPU-1"});
  workers.submit(measure_request(1, "slow"));
  workers.submit(measure_request(2, "kills"));
  while (!workers.needs_silence()) {
    const Result<std::optional<WorkReply>> reply = workers.poll();
    ASSERT_TRUE(reply.ok());
    EXPECT_FALSE(reply->has_value() && (*reply)->id == 2);
  }
  EXPECT_FALSE(workers.has_room({}, 1));
  Result<WorkReply> reply = next_alone(workers);
  if (reply->id == 1) reply = next_alone(workers);
  EXPECT_EQ(reply->outcome, Outcome::crashed);
  EXPECT_FALSE(workers.needs_silence());
  EXPECT_TRUE(workers.has_room({}, 1));
}

TEST(MeasurePool, AReferenceWhoseProcessIsKilledIsNoVariantsFault) {
  MeasurePool workers = pool({"GPU-0"});
  workers.submit(measure_request(1, "killed in the reference"));
  const Status status = next_alone(workers).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("killed by signal 9"));
}

}  // namespace
}  // namespace mgtune
