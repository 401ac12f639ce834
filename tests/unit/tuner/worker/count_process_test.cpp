#include "measure/count_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class CountProcessTest : public testing::Test {
 protected:
  static CountRequest job(const std::string& variant) {
    return {{{"family", "family.add", "n=7"}, variant}, 1};
  }

  CountProcess process_{fake_worker_path(), "GPU-1", std::chrono::milliseconds(3000)};
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
  CountProcess process(mgtune_path(), "cpu", std::chrono::seconds(60));
  const NamedProblem problem{source_path("tests/families/vector_add"), "vector_add.add",
                             "n=1000 T=f32"};
  const Status status = process.run({{problem, "flat THREADS=64 MODE=good"}, 1}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "the cpu device has no hardware counters");
}

TEST(CountProcess, ADeviceThatIsNotHereIsSaid) {
  CountProcess process(mgtune_path(), "GPU-0", std::chrono::seconds(60));
  EXPECT_THAT(process.run({}).status().message(), HasSubstr("no device GPU-0"));
}

}  // namespace
}  // namespace mgtune
