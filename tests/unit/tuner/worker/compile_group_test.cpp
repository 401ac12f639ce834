// Groups of variants that a worker compiles together: which there are, and that what one of them
// does is not charged to another one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_pool.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CompileGroupTest : public ::testing::Test {
 protected:
  static WorkRequest request(std::int64_t id, const std::string& variant,
                             const std::string& problem = "rows=4") {
    return {id, CompileRequest{{{"norm", "norm.forward", problem}, variant}, "GPU-1"}};
  }

  // A pool that knows how long a variant takes.
  CompilePool pool_of(std::size_t processes, milliseconds deadline = milliseconds(3000),
                      std::size_t most_together = kMostTogether) const {
    CompilePool pool({fake_worker_path()}, processes, deadline, {}, most_together);
    pool.submit(request(100, "first of all"));
    EXPECT_EQ(next(pool)->compile_seconds, 0.125);
    return pool;
  }

  // They wait together, so that there is a choice.
  static void submit(CompilePool& pool, const std::vector<WorkRequest>& requests) {
    pool.pause(true);
    for (const WorkRequest& one : requests) pool.submit(one);
    pool.pause(false);
  }

  static std::vector<WorkRequest> numbered(const std::vector<std::string>& variants) {
    std::vector<WorkRequest> requests;
    for (const std::string& variant : variants) {
      requests.push_back(request(std::ssize(requests) + 1, variant));
    }
    return requests;
  }

  static std::optional<WorkReply> next(CompilePool& pool) {
    Result<std::optional<WorkReply>> reply = wait_for_next(pool);
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    return reply.ok() ? *std::move(reply) : WorkReply();
  }

  // Everything that is pending, in the order in which it comes.
  static std::vector<WorkReply> drain(CompilePool& pool) {
    std::vector<WorkReply> replies;
    while (pool.pending() > 0) {
      const std::size_t pending = pool.pending();
      replies.push_back(*next(pool));
      EXPECT_EQ(pool.pending(), pending - 1);
      if (::testing::Test::HasFailure()) break;
    }
    return replies;
  }

  static std::vector<std::int64_t> ids(const std::vector<WorkReply>& replies) {
    std::vector<std::int64_t> all;
    for (const WorkReply& reply : replies) all.push_back(reply.id);
    return all;
  }

  static std::map<std::int64_t, WorkReply> by_id(const std::vector<WorkReply>& replies) {
    std::map<std::int64_t, WorkReply> all;
    for (const WorkReply& reply : replies) EXPECT_TRUE(all.emplace(reply.id, reply).second);
    return all;
  }

  // What the workers were given together.
  std::vector<std::string> groups() const {
    std::vector<std::string> all;
    std::ifstream file(folder_.file("groups"));
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

  const TestFolder folder_;
  const Variable groups_{"FAKE_WORKER_GROUPS", folder_.file("groups")};
  const Variable seconds_{"FAKE_WORKER_COMPILE_SECONDS", "0.125"};
};

TEST_F(CompileGroupTest, AFreeWorkerGetsSeveralThatWait) {
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"a", "b", "c"}));
  EXPECT_EQ(pool.pending(), 3U);
  const std::vector<WorkReply> replies = drain(pool);
  EXPECT_THAT(ids(replies), ElementsAre(1, 2, 3));
  EXPECT_THAT(groups(), ElementsAre("a + b + c"));
  for (const WorkReply& reply : replies) EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
}

TEST_F(CompileGroupTest, ItsTimeIsSharedEvenly) {
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"a", "b", "c"}));
  for (const WorkReply& reply : drain(pool)) EXPECT_EQ(reply.compile_seconds, 0.125);
  pool.submit(request(4, "a"));
  pool.submit(request(5, "b"));
  std::map<std::int64_t, WorkReply> alone = by_id(drain(pool));
  EXPECT_EQ(alone[4].compile_seconds, 0.125) << "the worker says so";
  EXPECT_EQ(alone[5].compile_seconds, std::nullopt) << "it is of no group now";
}

TEST_F(CompileGroupTest, ItHasNoMoreThanAPartOfWhatWaits) {
  CompilePool pool = pool_of(2);
  submit(pool, numbered({"a", "b", "c", "d", "e"}));
  EXPECT_EQ(drain(pool).size(), 5U);
  EXPECT_THAT(groups(), ElementsAre("a + b")) << "of c, d and e each worker has one";
}

TEST_F(CompileGroupTest, ItHasNoMoreThanTakeASecond) {
  CompilePool pool = pool_of(1);
  std::vector<std::string> variants;
  for (int i = 0; i < 11; ++i) variants.push_back("v" + std::to_string(i));
  submit(pool, numbered(variants));
  EXPECT_EQ(drain(pool).size(), 11U);
  EXPECT_THAT(groups(), ElementsAre("v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7", "v8 + v9 + v10"));
}

TEST_F(CompileGroupTest, ThereIsNoneUntilTheTimeOfAVariantIsKnown) {
  CompilePool pool({fake_worker_path()}, 1, milliseconds(3000), {}, kMostTogether);
  EXPECT_EQ(pool.group_size("norm.forward"), 1U);
  submit(pool, numbered({"a", "b", "c", "d"}));
  EXPECT_EQ(next(pool)->id, 1);
  EXPECT_EQ(drain(pool).size(), 3U);
  EXPECT_EQ(pool.group_size("norm.forward"), 8U);
  EXPECT_EQ(pool.group_size("norm.backward"), 1U);
  EXPECT_THAT(groups(), ElementsAre("b + c + d"));
}

TEST_F(CompileGroupTest, ThereIsNoneInAPoolThatWantsNone) {
  CompilePool pool = pool_of(1, milliseconds(3000), 1);
  submit(pool, numbered({"a", "b", "c", "d"}));
  EXPECT_EQ(drain(pool).size(), 4U);
  EXPECT_THAT(groups(), IsEmpty());
}

TEST_F(CompileGroupTest, ThereIsNoneIfTheCacheKeepsNothing) {
  const Variable full("FAKE_WORKER_NOT_CACHED", "no space");
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"a", "b", "c"}));
  EXPECT_EQ(drain(pool).size(), 3U);
  EXPECT_THAT(groups(), IsEmpty());
}

TEST_F(CompileGroupTest, OnlyRequestsThatAreAlikeAreTogether) {
  CompilePool pool = pool_of(1);
  pool.pause(true);
  pool.submit(request(1, "a"));
  pool.submit(request(2, "b", "rows=8"));
  pool.submit(request(3, "c"), {}, std::nullopt);
  WorkRequest of_other_device = request(4, "d");
  std::get<CompileRequest>(of_other_device.work).device = "GPU-2";
  pool.submit(of_other_device);
  pool.submit(request(5, "e"));
  pool.submit(request(6, "f"), {}, "of another source");
  pool.submit(request(7, "g"), {}, "of another source");
  pool.pause(false);
  EXPECT_THAT(ids(drain(pool)), ElementsAre(1, 5, 2, 3, 4, 6, 7));
  EXPECT_THAT(groups(), ElementsAre("a + e", "f + g"));
}

TEST_F(CompileGroupTest, AKernelOfAGroupIsCompiledByItsWorkerFirst) {
  CompilePool pool = pool_of(2);
  pool.pause(true);
  pool.submit(request(1, "slow"), {"main 1"});
  pool.submit(request(2, "b"), {"main 2", "sum"});
  pool.submit(request(3, "c"), {"main 3", "sum"});
  pool.submit(request(4, "d"), {"main 4"});
  pool.pause(false);
  EXPECT_THAT(ids(drain(pool)), ElementsAre(4, 1, 2, 3));
  EXPECT_THAT(groups(), ElementsAre("slow + b"));
}

TEST_F(CompileGroupTest, VariantsOfAGroupMayHaveAKernelInCommon) {
  CompilePool pool = pool_of(1);
  pool.pause(true);
  for (const std::int64_t id : {1, 2, 3}) {
    pool.submit(request(id, "v" + std::to_string(id)), {"main " + std::to_string(id), "sum"});
  }
  pool.pause(false);
  EXPECT_EQ(drain(pool).size(), 3U);
  EXPECT_THAT(groups(), ElementsAre("v1 + v2 + v3"));
}

TEST_F(CompileGroupTest, WhatIsDroppedIsNotAskedFor) {
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"a", "b", "c", "d"}));
  EXPECT_THAT(pool.drop_waiting({1, 2, 3}), ElementsAre(1)) << "the worker is at the first";
  EXPECT_EQ(pool.pending(), 2U);
  EXPECT_THAT(ids(drain(pool)), ElementsAre(1, 4));
  EXPECT_THAT(groups(), ElementsAre("a + b + c + d"));
}

TEST_F(CompileGroupTest, APausedPoolAsksForNoFurtherOne) {
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"a", "b", "c"}));
  pool.pause(true);
  EXPECT_FALSE(pool.is_quiet());
  EXPECT_EQ(next(pool)->id, 1);
  EXPECT_TRUE(pool.is_quiet());
  EXPECT_FALSE(pool.poll()->has_value());
  EXPECT_TRUE(pool.is_quiet());
  EXPECT_EQ(pool.pending(), 2U);
  pool.pause(false);
  EXPECT_FALSE(pool.is_quiet());
  EXPECT_THAT(ids(drain(pool)), ElementsAre(2, 3));
}

TEST_F(CompileGroupTest, ACrashCostsOneVariantOfAGroup) {
  CompilePool pool = pool_of(2);
  submit(pool, numbered({"a", "b", "crash", "d", "e", "f"}));
  std::map<std::int64_t, WorkReply> replies = by_id(drain(pool));
  ASSERT_EQ(replies.size(), 6U);
  for (const std::int64_t id : {1, 2, 4, 5, 6}) {
    EXPECT_EQ(replies[id].outcome, Outcome::ok) << replies[id].message;
    EXPECT_EQ(replies[id].compile_seconds, 0.125) << id;
  }
  EXPECT_EQ(replies[3].outcome, Outcome::compile_failed);
  EXPECT_THAT(replies[3].message, HasSubstr("killed by signal 11"));
  EXPECT_EQ(groups().front(), "a + b + crash");
  EXPECT_EQ(std::ranges::count(groups(), "a + b + crash"), 1) << "it is not sent again";
}

TEST_F(CompileGroupTest, AVariantThatCrashesInCompanyOnlyIsCompiledByItself) {
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"a", "crash in company", "c"}));
  for (const WorkReply& reply : drain(pool)) EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(groups().size(), 1U);
}

TEST_F(CompileGroupTest, ATimeoutCostsOneVariantOfAGroup) {
  CompilePool pool = pool_of(1, milliseconds(400));
  submit(pool, numbered({"a", "hang", "c"}));
  std::map<std::int64_t, WorkReply> replies = by_id(drain(pool));
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[1].outcome, Outcome::ok);
  EXPECT_EQ(replies[2].outcome, Outcome::timeout);
  EXPECT_EQ(replies[3].outcome, Outcome::ok);
  EXPECT_THAT(groups(), ElementsAre("a + hang + c"));
}

TEST_F(CompileGroupTest, LackOfMemoryCostsOneVariantOfAGroup) {
  for (const char* culprit : {"refused", "killed"}) {
    CompilePool pool = pool_of(1);
    submit(pool, numbered({"a", "b", culprit}));
    std::map<std::int64_t, WorkReply> replies = by_id(drain(pool));
    ASSERT_EQ(replies.size(), 3U);
    EXPECT_EQ(replies[1].outcome, Outcome::ok);
    EXPECT_EQ(replies[2].outcome, Outcome::ok);
    EXPECT_EQ(replies[3].outcome, Outcome::compile_failed);
    EXPECT_EQ(replies[3].failure, StatusCode::environment);
  }
  EXPECT_EQ(groups().size(), 2U);
}

TEST_F(CompileGroupTest, AFullDiskEndsTheSweepAtTheVariantThatMeetsIt) {
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"a", "no space", "c"}));
  EXPECT_EQ(next(pool)->id, 1);
  const Status status = wait_for_next(pool).status();
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_THAT(status.message(), HasSubstr("while compiling no space of norm.forward rows=4"));
}

// The worker has compiled it alone by then.
TEST_F(CompileGroupTest, AVariantThatDoesNotCompileIsToBlameItself) {
  CompilePool pool = pool_of(1);
  submit(pool, numbered({"broken", "b", "broken too", "d"}));
  std::map<std::int64_t, WorkReply> replies = by_id(drain(pool));
  ASSERT_EQ(replies.size(), 4U);
  EXPECT_EQ(replies[1].outcome, Outcome::compile_failed);
  EXPECT_EQ(replies[1].message, "error: it is broken");
  EXPECT_EQ(replies[2].outcome, Outcome::ok);
  EXPECT_EQ(replies[3].outcome, Outcome::compile_failed);
  EXPECT_EQ(replies[4].outcome, Outcome::ok);
  EXPECT_THAT(groups(), ElementsAre("broken + b + broken too + d"));
}

TEST_F(CompileGroupTest, WhatMustRunAloneWaitsForTheRestOfAGroup) {
  const std::string busy = "busy " + folder_.file("busy");
  CompilePool pool = pool_of(2);
  submit(pool, numbered({busy, busy, "killed beside " + folder_.file("busy"), "d"}));
  const std::vector<WorkReply> replies = drain(pool);
  ASSERT_EQ(replies.size(), 4U);
  for (const WorkReply& reply : replies) EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_THAT(groups(), ElementsAre(busy + " + " + busy));
}

}  // namespace
}  // namespace mgtune
