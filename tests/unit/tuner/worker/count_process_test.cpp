#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/helpers/test_paths.h"
#include "worker/worker_process.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class CountProcessTest : public testing::Test {
 protected:
  static WorkRequest job(const std::string& variant) {
    return {1, CountRequest{{{"family", "family.add", "n=7"}, variant}, 1}};
  }

  WorkerProcess process_{{fake_worker_path(), "worker", "count", "GPU-1"},
                         std::chrono::milliseconds(3000)};
};

TEST_F(CountProcessTest, GivesTheCountersOfVariantAfterVariant) {
  for (const char* variant : {"flat VEC=1", "flat VEC=2"}) {
    const Result<WorkReply> reply = process_.run(job(variant));
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_THAT(reply->counters->values, ElementsAre(CounterRecord{"dram_read_bytes", 6000},
                                                     CounterRecord{"dram_write_bytes", 6120}));
    EXPECT_EQ(reply->build->sha256, "sha");
    EXPECT_THAT(reply->counters->left_out, ElementsAre("l2_bytes"));
  }
}

TEST_F(CountProcessTest, AWrongVariantIsNotCounted) {
  const Result<WorkReply> reply = process_.run(job("flat MODE=wrong"));
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(reply->outcome, Outcome::wrong);
  EXPECT_EQ(reply->message, "z[3] is 7, not 8");
  EXPECT_FALSE(reply->counters.has_value());
}

TEST_F(CountProcessTest, ARefusalComesBackAsItIs) {
  const Status status = process_.run(job("refused")).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "only administrators may count");
  EXPECT_TRUE(process_.run(job("flat VEC=1")).ok());
}

TEST_F(CountProcessTest, ACrashIsTheVariants) {
  const Result<WorkReply> reply = process_.run(job("crash"));
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(reply->outcome, Outcome::crashed);
  EXPECT_THAT(reply->message, StartsWith("killed by signal 11"));
  EXPECT_TRUE(process_.run(job("flat VEC=1")).ok());
}

TEST_F(CountProcessTest, AnAnswerWithoutCountersIsOurMistake) {
  EXPECT_EQ(process_.run(job("forgets the counters")).status().code(), StatusCode::internal);
}

// The real worker: what it says before it has counted anything needs no GPU.
TEST(CountProcess, TheCpuDeviceHasNone) {
  WorkerProcess process({mgtune_path(), "worker", "count", "cpu"}, std::chrono::seconds(60));
  const NamedProblem problem{source_path("tests/families/vector_add"), "vector_add.add",
                             "n=1000 T=f32"};
  const CountRequest work{{problem, "flat THREADS=64 MODE=good"}, 1};
  const Status status = process.run({1, work}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "the cpu device has no hardware counters");
}

TEST(CountProcess, ADeviceThatIsNotHereIsSaid) {
  WorkerProcess process({mgtune_path(), "worker", "count", "GPU-0"}, std::chrono::seconds(60));
  EXPECT_THAT(process.run({1, CountRequest{}}).status().message(), HasSubstr("no device GPU-0"));
}

}  // namespace
}  // namespace mgtune
