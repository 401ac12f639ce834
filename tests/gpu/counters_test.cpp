// Hardware counters on a real GPU: what must be counted of planted costs, and that counting and
// timing stay out of each other's way. Skipped, and said, where the driver does not let us count.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "check/checker.h"
#include "counters/launch_counting.h"
#include "counters/range_counter.h"
#include "family/catalog.h"
#include "measure/timing_method_probe.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/real_gpu.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"
#include "worker/worker_process.h"

namespace mgtune {
namespace {

using testing::AnyOf;
using testing::DoubleNear;
using testing::HasSubstr;

constexpr std::chrono::seconds kDeadline{120};

// What is the machine's business, not a bug here.
bool is_refusal(const Status& status) {
  return status.code() == StatusCode::environment &&
         testing::Matches(AnyOf(HasSubstr("only administrators read hardware counters"),
                                HasSubstr("another program uses the GPU's hardware counters"),
                                HasSubstr("counters need CUPTI for themselves")))(status.message());
}

#define MGTUNE_SKIP_WHERE_REFUSED(status)                                            \
  if (is_refusal(status)) {                                                          \
    std::cout << "SKIPPED, NOTHING WAS TESTED: " << (status).message() << std::endl; \
    GTEST_SKIP() << (status).message();                                              \
  }

using Values = std::map<std::string, double, std::less<>>;

// Through the worker, as mgtune profile and sweeps count.
class CountedVariants : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ::setenv("MGTUNE_CACHE_DIR", folder_.file("cache").c_str(), 1);
    process_ = WorkerProcess({mgtune_path(), "worker", "count", device().info().id}, kDeadline);
    const Result<WorkReply> first = process_->run({1, costly("none")});
    MGTUNE_SKIP_WHERE_REFUSED(first.status());
    ASSERT_TRUE(first.ok()) << first.status().message();
  }

  static CountRequest costly(const std::string& cost, int tier = 1) {
    return {{{source_path("tests/families/costly"), "costly.spread", "n=1048576"},
             "block COST=" + cost},
            tier};
  }

  // Every counter of the job by name, printed.
  Values count(const CountRequest& job) {
    const Result<WorkReply> reply = process_->run({1, job});
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    if (!reply.ok() || !reply->counters.has_value()) {
      ADD_FAILURE() << (reply.ok() ? reply->message : "");
      return {};
    }
    const VariantCounters& counters = *reply->counters;
    std::cout << job.variant << " of " << job.op << " on " << counters.chip << ", "
              << counters.launches << " launches, " << counters.passes << " passes "
              << counters.note << "\n";
    Values values;
    for (const CounterRecord& counter : counters.values) {
      std::cout << "  " << counter.name << " " << counter.value << "\n";
      values[counter.name] = counter.value;
    }
    for (const std::string& left_out : counters.left_out) std::cout << "  " << left_out << "\n";
    std::cout << std::flush;
    EXPECT_GE(counters.launches, 16);
    return values;
  }

  const TestFolder folder_;
  std::optional<WorkerProcess> process_;
};

TEST_F(CountedVariants, RmsnormMovesTheBytesThatItsCostSays) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator("rmsnorm.forward").value();
  const std::string text = "rows=8192,hidden=8192,T=bf16";
  const Problem problem = bind_problem(op, parse_assignments(text).value()).value();
  const auto cost = static_cast<double>(op.bytes.evaluate(problem.slots).value());
  const Variant variant = Space(problem, device().info().limits).ladder().front();
  const Values values =
      count({{{"rmsnorm", "rmsnorm.forward", problem.text()}, variant_text(op, variant)}, 1});
  ASSERT_TRUE(values.contains("dram_read_bytes") && values.contains("dram_write_bytes"));
  const double moved = values.at("dram_read_bytes") + values.at("dram_write_bytes");
  std::cout << "moved " << moved << " bytes, " << 100 * moved / cost << " % of the cost, "
            << moved / values.at("elapsed_ns") << " GB/s" << std::endl;
  EXPECT_THAT(moved, DoubleNear(cost, 0.03 * cost));
  EXPECT_THAT(values.at("dram_write_bytes"), DoubleNear(cost / 2, 0.05 * cost));
  EXPECT_GT(values.at("sm_clock_mhz"), 100);
  EXPECT_GT(values.at("occupancy_percent"), 1);
  EXPECT_LE(values.at("occupancy_percent"), 100);
}

TEST_F(CountedVariants, OnlySpillsTouchLocalMemory) {
  const Values none = count(costly("none"));
  EXPECT_EQ(none.at("local_loads"), 0);
  EXPECT_EQ(none.at("local_stores"), 0);
  const Values spills = count(costly("spills"));
  EXPECT_GT(spills.at("local_loads"), 32'768);  // one for each warp is the least
  EXPECT_GT(spills.at("local_stores"), 32'768);
}

TEST_F(CountedVariants, BankConflictsAreThoseThatWerePlanted) {
  // 32 lanes in one bank: 31 cycles more for each of 32768 warps.
  const double planted = 31.0 * 32'768;
  const Values none = count(costly("none"));
  EXPECT_LT(none.at("shared_load_conflicts"), 0.01 * planted);
  EXPECT_LT(none.at("shared_store_conflicts"), 0.01 * planted);
  const Values conflicts = count(costly("conflicts"));
  EXPECT_THAT(conflicts.at("shared_load_conflicts"), DoubleNear(planted, 0.1 * planted));
  EXPECT_THAT(conflicts.at("shared_store_conflicts"), DoubleNear(planted, 0.1 * planted));
  EXPECT_GT(conflicts.at("shared_load_wavefronts"), 10 * none.at("shared_load_wavefronts"));
}

TEST_F(CountedVariants, TheSecondTierIsInAddition) {
  const Values first = count(costly("none", 1));
  const Values second = count(costly("none", 2));
  EXPECT_GT(second.size(), first.size() + 15);
  EXPECT_GT(second.at("sm_throughput_percent"), 0);
  EXPECT_GT(second.at("stall_long_scoreboard"), 0);
  // The same launches execute the same instructions, whatever else is counted.
  EXPECT_EQ(second.at("instructions"), first.at("instructions"));
}

TEST_F(CountedVariants, AnotherProcessTimesAsBefore) {
  const Result<TimingMethod> method = probe_timing_method(mgtune_path());
  ASSERT_TRUE(method.ok()) << method.status().message();
  EXPECT_EQ(method->name, "rotating") << method->reason;
  WorkerProcess timing(
      {mgtune_path(), "worker", "measure", device().info().id, method->name, method->reason},
      kDeadline);
  const CountRequest job = costly("none");
  const WorkRequest request{1, MeasureRequest{job, 0}};
  const auto median_ns = [&]() -> double {
    const Result<WorkReply> reply = timing.run(request);
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    if (!reply.ok() || !reply->measurement.has_value()) return -1;
    EXPECT_EQ(reply->measurement->method, "rotating");
    return reply->measurement->median_ns;
  };
  const double before = median_ns();
  count(job);
  const double after = median_ns();
  std::cout << "median before " << before << " ns, after " << after << " ns" << std::endl;
  EXPECT_GT(before, 0);
  EXPECT_THAT(after, DoubleNear(before, 0.1 * before));
}

// In this process, kernel by kernel.
class CountedKernels : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_TRUE(device().synchronize(nullptr).ok());  // makes the context current
    CUcontext context = nullptr;
    ASSERT_EQ(cuda_driver()->cuCtxGetCurrent(&context), CUDA_SUCCESS);
    const Result<CounterLibrary> library = open_counter_library();
    ASSERT_TRUE(library.ok()) << library.status().message();
    auto counter = RangeCounter::make(*library, context, device().info().index);
    MGTUNE_SKIP_WHERE_REFUSED(counter.status());
    ASSERT_TRUE(counter.ok()) << counter.status().message();
    counter_ = std::move(*counter);
  }

  void TearDown() override {
    counter_.reset();  // before its context
    module_.reset();
    RealGpuTest::TearDown();
  }

  Values count(const TimedWork& work, int tier) {
    const Result<VariantCounters> counted = count_launches(*counter_, device(), work, 1, tier);
    EXPECT_TRUE(counted.ok()) << counted.status().message();
    Values values;
    if (!counted.ok()) return values;
    for (const auto& [name, value] : counted->values) values.emplace(name, value);
    return values;
  }

  std::unique_ptr<RangeCounter> counter_;
  std::unique_ptr<Module> module_;
};

constexpr char kAddOne[] = R"(
__global__ void add_one(int* values) { values[blockIdx.x * blockDim.x + threadIdx.x] += 1; })";

TEST_F(CountedKernels, OtherSetsAfterTheFirstAndAgain) {
  const Kernel* const add_one = kernel(kAddOne, "add_one");
  ASSERT_NE(add_one, nullptr);
  const Buffer buffer = Buffer::allocate(device(), (64 << 20)).value();
  const TimedWork work = [&](std::int64_t, Stream stream) {
    KernelLaunch one;
    one.kernel = add_one;
    one.grid = {(64 << 20) / 4 / 256, 1, 1};
    one.block = {256, 1, 1};
    one.stream = stream;
    return launch(one, buffer.data());
  };
  const Values first = count(work, 1);
  const Values all = count(work, 2);  // three configurations, one after the other
  const Values again = count(work, 1);
  ASSERT_TRUE(first.contains("instructions"));
  EXPECT_GT(first.at("instructions"), 64 << 20 >> 7);
  EXPECT_EQ(all.at("instructions"), first.at("instructions"));
  EXPECT_EQ(again.at("instructions"), first.at("instructions"));
  EXPECT_TRUE(all.contains("stall_long_scoreboard"));
  EXPECT_FALSE(again.contains("stall_long_scoreboard"));
}

// Zeros times zeros, `repeats` times over, from shared memory without a swizzle.
constexpr char kWgmma[] = R"(
__global__ void __launch_bounds__(128) multiply(float* out, int repeats) {
  __shared__ alignas(1024) unsigned char tiles[4096];
  for (int i = threadIdx.x; i < 4096; i += 128) tiles[i] = 0;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const unsigned at = (unsigned)__cvta_generic_to_shared(tiles);
  // Address, leading and stride offsets in units of 16 bytes: core matrices of 128 bytes in a row.
  const unsigned long long layout = (8ull << 16) | (16ull << 32);
  const unsigned long long a = ((at & 0x3ffff) >> 4) | layout;
  const unsigned long long b = (((at + 2048) & 0x3ffff) >> 4) | layout;
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
  for (int i = 0; i < repeats; ++i) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(a), "l"(b));
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  out[blockIdx.x * 128 + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
})";

TEST_F(CountedKernels, WgmmaInstructionsAreCountedWhereThereAreAny) {
  if (device().info().limits.compute_capability != 90) {
    std::cout << "wgmma is of sm_90 alone: not tested" << std::endl;
    return;
  }
  const SourceTree sources{"test", {{"test.cu", kWgmma}}};
  const auto compiler = make_nvrtc_compiler("sm_90a");
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  const auto build = (*compiler)->compile({&sources, "test.cu", {"multiply"}, "sm_90a"});
  ASSERT_TRUE(build.ok()) << build.status().message();
  auto module = device().load(*build);
  ASSERT_TRUE(module.ok()) << module.status().message();
  module_ = std::move(*module);
  constexpr int kRepeats = 100;
  constexpr std::uint32_t kBlocks = 264;
  const Buffer out = Buffer::allocate(device(), std::size_t{kBlocks} * 128 * 4).value();
  const TimedWork multiply = [&](std::int64_t, Stream stream) {
    KernelLaunch one;
    one.kernel = module_->kernel("multiply").value();
    one.grid = {kBlocks, 1, 1};
    one.block = {128, 1, 1};
    one.stream = stream;
    return launch(one, out.data(), kRepeats);
  };
  const Values values = count(multiply, 1);
  ASSERT_TRUE(values.contains("wgmma_instructions"));
  const double expected = 4.0 * kRepeats * kBlocks;  // a warpgroup is 4 warps
  std::cout << "wgmma_instructions " << values.at("wgmma_instructions") << " of " << expected
            << ", tensor_active_percent " << values.at("tensor_active_percent") << std::endl;
  EXPECT_GT(values.at("wgmma_instructions"), 0.2 * expected);
  EXPECT_LT(values.at("wgmma_instructions"), 5 * expected);
  EXPECT_GT(values.at("tensor_active_percent"), 0);

  const Kernel* const add_one = kernel(kAddOne, "add_one");
  ASSERT_NE(add_one, nullptr);
  const TimedWork add = [&](std::int64_t, Stream stream) {
    KernelLaunch one;
    one.kernel = add_one;
    one.block = {128, 1, 1};
    one.stream = stream;
    return launch(one, out.data());
  };
  EXPECT_EQ(count(add, 1).at("wgmma_instructions"), 0);
}

}  // namespace
}  // namespace mgtune
