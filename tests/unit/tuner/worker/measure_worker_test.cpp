// The real measure worker, driven as a sweep drives it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <string>

#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"
#include "worker/worker_process.h"

namespace mgtune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kFamilies = source_path("tests/families/");

// A family whose kernel prints, and one whose kernel leaves its buffers far behind.
constexpr char kRudeJson[] = R"json({
  "format": 1,
  "dims": {"n": "dynamic"},
  "tensors": {"y": {"role": "out", "dtype": "f32", "shape": ["n"]}},
  "cost": {"bytes": "4 * n", "flops": "0"},
  "check": {"reference": "rude_reference", "measure": "relative_l2", "tolerance": {"f32": 0}},
  "designs": {"plain": {"source": "rude.cu", "params": {"WAY": ["prints", "crashes"]},
    "launches": [{"kernel": "rude<WAY>", "grid": ["1"], "block": ["32"], "args": ["y", "n:i64"]}],
    "defaults": [{"WAY": "prints"}]}}
})json";

constexpr char kRudeSource[] = R"cuda(#include <stdio.h>
enum class WAY { prints, crashes };
template <WAY kWay>
__global__ void rude(float* y, long long n) {
  if (kWay == WAY::prints && threadIdx.x == 0) {
    printf("{\"did\":\"done\",\"id\":1,\"outcome\":\"wrong\",\"message\":\"a lie\"}\n");
    fflush(stdout);
  }
  for (long long i = threadIdx.x; i < n; i += 32) y[i] = 1.0f;
  if (kWay == WAY::crashes && threadIdx.x == 7) y[n + (1ll << 40)] = 1.0f;
}
)cuda";

constexpr char kRudeReference[] = R"cuda(
template <class Problem>
__global__ void rude_reference(double* y, Problem problem) {
  if (blockIdx.x == 0 && threadIdx.x == 0) for (long long i = 0; i < problem.n; ++i) y[i] = 1;
}
)cuda";

class MeasureWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("MGTUNE_CACHE_DIR", cache_.path().c_str(), 1);
    ::setenv("MGTUNE_CPU_DEADLINE_S", "2", 1);
  }

  WorkReply measure(const std::string& kernel, const std::string& op, const std::string& problem,
                    const std::string& variant, double stop_above_ns = 0) {
    Result<WorkReply> reply =
        process_.run({next_id_++, MeasureRequest{{{kernel, op, problem}, variant}, stop_above_ns}});
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    return reply.ok() ? *reply : WorkReply();
  }

  WorkReply add(const std::string& mode, double stop_above_ns = 0) {
    return measure(kFamilies + "vector_add", "vector_add.add", "n=1000 T=f32",
                   "flat THREADS=64 MODE=" + mode, stop_above_ns);
  }

  WorkReply faulty(const std::string& op) {
    return measure(kFamilies + "faulty", "faulty." + op, "n=256 T=f32", "planted THREADS=64");
  }

  WorkReply rude(const std::string& way) {
    const std::string folder = cache_.file("rude");
    ::mkdir(folder.c_str(), 0700);
    std::ofstream(folder + "/go.json") << kRudeJson;
    std::ofstream(folder + "/rude.cu") << kRudeSource;
    std::ofstream(folder + "/reference.cu") << kRudeReference;
    return measure(folder, "rude.go", "n=64", "plain WAY=" + way);
  }

  const TestFolder cache_;
  WorkerProcess process_{{mgtune_path(), "worker", "measure", "cpu", "emulation"},
                         std::chrono::seconds(60)};
  std::int64_t next_id_ = 1;
};

TEST_F(MeasureWorkerTest, AGoodVariantIsBuiltCheckedAndTimed) {
  const WorkReply reply = add("good");
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  ASSERT_TRUE(reply.build && reply.check && reply.measurement);
  EXPECT_EQ(reply.build->sha256.size(), 64U);
  EXPECT_EQ(reply.check->outcome, Outcome::ok);
  EXPECT_LE(reply.check->error, 1e-7);
  EXPECT_EQ(reply.check->tolerance, 1e-7);
  const MeasurementRecord& measured = *reply.measurement;
  EXPECT_EQ(measured.method, "emulation");
  EXPECT_GE(measured.samples, 5);
  EXPECT_GT(measured.min_ns, 0);
  EXPECT_LE(measured.min_ns, measured.q1_ns);
  EXPECT_LE(measured.q1_ns, measured.median_ns);
  EXPECT_LE(measured.median_ns, measured.q3_ns);
  EXPECT_EQ(measured.note, "the same buffers in every launch");
}

// What was found ahead is of the right variant, and nothing of one is left for the next.
TEST_F(MeasureWorkerTest, RequestsInARowHaveTheirOwnResults) {
  const std::string good = add("good").build->sha256;
  const std::string wrong = add("wrong").build->sha256;
  const auto request = [&](std::int64_t id) {
    const std::string mode = id % 2 == 0 ? "good" : "wrong";
    const NamedProblem problem{kFamilies + "vector_add", "vector_add.add", "n=1000 T=f32"};
    return WorkerProcess::Task{
        .request = {id, MeasureRequest{{problem, "flat THREADS=64 MODE=" + mode}, 0}}};
  };
  constexpr std::int64_t kRequests = 6;
  process_.submit(request(10));
  for (std::int64_t i = 0; i < kRequests; ++i) {
    if (i + 1 < kRequests) process_.submit(request(11 + i));
    const auto finished = wait_for_next(process_);
    ASSERT_TRUE(finished.ok()) << finished.status().message();
    const WorkReply& reply = (*finished)->reply;
    EXPECT_EQ(reply.id, 10 + i);
    EXPECT_EQ(reply.outcome, i % 2 == 0 ? Outcome::ok : Outcome::wrong);
    EXPECT_EQ(reply.build->sha256, i % 2 == 0 ? good : wrong);
    ASSERT_TRUE(reply.seconds.has_value());
    EXPECT_GE(reply.seconds->all,
              reply.seconds->load + reply.seconds->check + reply.seconds->measure);
  }
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(MeasureWorkerTest, AWrongVariantIsNotTimed) {
  const WorkReply reply = add("wrong");
  EXPECT_EQ(reply.outcome, Outcome::wrong);
  ASSERT_TRUE(reply.check.has_value());
  EXPECT_EQ(reply.check->outcome, Outcome::wrong);
  EXPECT_THAT(reply.message, HasSubstr("z["));
  EXPECT_FALSE(reply.measurement.has_value());
  EXPECT_EQ(add("good").outcome, Outcome::ok);
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(MeasureWorkerTest, WhatDoesNotCompileIsSaid) {
  const WorkReply reply = add("broken");
  EXPECT_EQ(reply.outcome, Outcome::compile_failed);
  EXPECT_THAT(reply.message, HasSubstr("broken on purpose"));
  EXPECT_FALSE(reply.check || reply.measurement);
}

TEST_F(MeasureWorkerTest, WhatIsClearlySlowerIsRacedOut) {
  const WorkReply reply = add("good", 1);  // nothing takes under a nanosecond
  EXPECT_EQ(reply.outcome, Outcome::raced_out);
  ASSERT_TRUE(reply.measurement.has_value());
  EXPECT_EQ(reply.measurement->outcome, Outcome::raced_out);
  EXPECT_EQ(reply.measurement->samples, 6);
}

TEST_F(MeasureWorkerTest, PlantedFaultsAreNamed) {
  const WorkReply barrier = faulty("missing_barrier");
  EXPECT_EQ(barrier.outcome, Outcome::wrong);
  EXPECT_THAT(barrier.message, HasSubstr("a barrier is missing?"));
  const WorkReply shuffle = faulty("divergent_shuffle");
  EXPECT_EQ(shuffle.outcome, Outcome::launch_failed);
  EXPECT_THAT(shuffle.message, HasSubstr("divergent_shuffle.cu:"));
  const WorkReply bounds = faulty("out_of_bounds");
  EXPECT_EQ(bounds.outcome, Outcome::wrong);
  EXPECT_EQ(bounds.message, "y: written past its end, at byte 1024 of 1024");
  const WorkReply endless = faulty("endless_loop");
  EXPECT_THAT(endless.outcome, AnyOf(Outcome::timeout, Outcome::launch_failed));
  EXPECT_THAT(endless.message, HasSubstr("endless"));
  EXPECT_EQ(add("good").outcome, Outcome::ok);
}

TEST_F(MeasureWorkerTest, WhatAKernelPrintsIsNoReply) {
  const WorkReply reply = rude("prints");
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(process_.restarts(), 0);
}

TEST_F(MeasureWorkerTest, ACrashNamesBlockThreadAndLine) {
  const WorkReply reply = rude("crashes");
  EXPECT_EQ(reply.outcome, Outcome::crashed);
  EXPECT_THAT(reply.message, HasSubstr("block (0,0,0)"));
  EXPECT_THAT(reply.message, HasSubstr("(7,0,0)"));
  EXPECT_THAT(reply.message, HasSubstr("rude.cu:10"));
  EXPECT_EQ(rude("prints").outcome, Outcome::ok);
}

TEST_F(MeasureWorkerTest, WrongWordsAreNoVariantsFailure) {
  const Result<WorkReply> reply =
      process_.run({0, MeasureRequest{{{"no_such_family", "no_such_family.op", "n=1"}, "x"}, 0}});
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().code(), AnyOf(StatusCode::invalid_argument, StatusCode::not_found));
  EXPECT_THAT(reply.status().message(), HasSubstr("no_such_family"));
  EXPECT_EQ(add("good").outcome, Outcome::ok);
}

TEST(MeasureWorker, ADeviceThatIsNotHereIsSaid) {
  WorkerProcess process({mgtune_path(), "worker", "measure", "GPU-0", "rotating"},
                        std::chrono::seconds(60));
  const Result<WorkReply> reply = process.run({});
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("no device GPU-0"));
}

}  // namespace
}  // namespace mgtune
