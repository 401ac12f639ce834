// The measure worker on a real GPU: planted faults become the rows of their variants, the worker is
// replaced, and the next variant is none the worse for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "measure/timing_method_probe.h"
#include "tests/helpers/real_gpu.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"
#include "worker/worker_process.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

constexpr char kFaultsJson[] = R"json({
  "format": 1,
  "dims": {"n": "dynamic"},
  "tensors": {"x": {"role": "in", "dtype": "f32", "shape": ["n"], "fill": "normal"},
              "y": {"role": "out", "dtype": "f32", "shape": ["n"]}},
  "cost": {"bytes": "8 * n", "flops": "0"},
  "check": {"reference": "faults_reference", "measure": "relative_l2", "tolerance": {"f32": 0}},
  "designs": {"plain": {"source": "faults.cu",
    "params": {"FAULT": ["none", "one_past", "far", "asserts", "traps", "endless", "shared"]},
    "launches": [{"kernel": "faults<FAULT>", "grid": ["ceil_div(n, 256)"], "block": ["256"],
                  "shared": "FAULT == shared ? 1048576 : 0", "args": ["x", "y", "n:i64"]}],
    "defaults": [{"FAULT": "none"}]}}
})json";

constexpr char kFaultsSource[] = R"cuda(
enum class FAULT { none, one_past, far, asserts, traps, endless, shared };
template <FAULT kFault>
__global__ void faults(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = x[i];
  if (kFault == FAULT::one_past && i == 0) y[n] = 1.0f;
  if (kFault == FAULT::far && i == 0) y[n + (1ll << 44)] = 1.0f;
  if (kFault == FAULT::asserts && i == 0) assert(n < 0);
  if (kFault == FAULT::traps && i == 0) __trap();
  if (kFault == FAULT::endless && i == 0) {
    volatile float* spin = y;
    while (spin[0] == spin[0]) {}
  }
}
)cuda";

constexpr char kFaultsReference[] = R"cuda(
template <class Problem>
__global__ void faults_reference(const float* x, double* y, Problem problem) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < problem.n;
       i += threads) {
    y[i] = x[i];
  }
}
)cuda";

class MeasureWorkerOnGpu : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string family = folder_.file("faults");
    ::mkdir(family.c_str(), 0700);
    std::ofstream(family + "/go.json") << kFaultsJson;
    std::ofstream(family + "/faults.cu") << kFaultsSource;
    std::ofstream(family + "/reference.cu") << kFaultsReference;
    ::setenv("MGTUNE_CACHE_DIR", folder_.file("cache").c_str(), 1);
    const Result<TimingMethod> method = probe_timing_method(mgtune_path());
    ASSERT_TRUE(method.ok()) << method.status().message();
    std::cout << "method " << method->name << " " << method->reason << std::endl;
    process_.emplace(std::vector<std::string>{mgtune_path(), "worker", "measure",
                                              device().info().id, method->name, method->reason},
                     std::chrono::seconds(15));
  }

  WorkReply measure(const std::string& fault) {
    const NamedProblem problem{folder_.file("faults"), "faults.go", "n=100000"};
    const Result<WorkReply> reply =
        process_->run({next_id_++, MeasureRequest{{problem, "plain FAULT=" + fault}, 0}});
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    const WorkReply answer = reply.ok() ? *reply : WorkReply();
    std::cout << fault << ": " << to_string(answer.outcome) << ": " << answer.message << std::endl;
    return answer;
  }

  void expect_good() {
    const WorkReply reply = measure("none");
    ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
    ASSERT_TRUE(reply.measurement.has_value());
    EXPECT_GT(reply.measurement->median_ns, 100);
    EXPECT_LT(reply.measurement->median_ns, 100'000);
    EXPECT_GE(reply.measurement->samples, 5);
  }

  const TestFolder folder_;
  std::optional<WorkerProcess> process_;
  std::int64_t next_id_ = 1;
};

TEST_F(MeasureWorkerOnGpu, AFaultIsItsVariantsAlone) {
  expect_good();
  const WorkReply one_past = measure("one_past");
  EXPECT_EQ(one_past.outcome, Outcome::wrong);
  EXPECT_THAT(one_past.message, HasSubstr("y: written past its end, at byte 400000 of 400000"));
  expect_good();
  for (const char* fault : {"far", "asserts", "traps"}) {
    EXPECT_EQ(measure(fault).outcome, Outcome::crashed) << fault;
    expect_good();
  }
  EXPECT_EQ(measure("endless").outcome, Outcome::timeout);
  expect_good();
  EXPECT_EQ(measure("shared").outcome, Outcome::unsupported);
  expect_good();
}

TEST_F(MeasureWorkerOnGpu, TheCopyCeilingComesByTheWorkersMethod) {
  const CeilingRequest request{"copy", 64 << 20};
  const Result<WorkReply> reply = process_->run({1, request});
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  ASSERT_TRUE(reply->ceiling.has_value());
  EXPECT_EQ(reply->ceiling->bytes, request.bytes);
  EXPECT_EQ(reply->ceiling->kind, "copy");
  EXPECT_GT(reply->ceiling->rate, 1e11);
  EXPECT_LT(reply->ceiling->rate, 2e13);
  expect_good();
}

}  // namespace
}  // namespace mgtune
