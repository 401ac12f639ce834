// The timers on a real GPU, against kernels that spin for a given time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <tuple>

#include "build/builder.h"
#include "ceilings/ceiling.h"
#include "system/file_system.h"
#include "tests/helpers/real_gpu.h"
#include "timing/buffer_rotation.h"
#include "timing/gpu_timer.h"
#include "timing/statistics.h"

namespace mgtune {
namespace {

using testing::DoubleNear;

constexpr char kSpin[] = R"(
__device__ unsigned long long now_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__global__ void spin(unsigned long long ns) {
  const unsigned long long start = now_ns();
  while (now_ns() - start < ns) {}
})";

class GpuTimers : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (!IsSkipped()) spin_ = kernel(kSpin, "spin");
  }

  // "rotating" is what this machine has of it.
  std::unique_ptr<Timer> timer(const std::string& name) {
    const TimingMethod method =
        name == "rotating" ? default_gpu_method() : TimingMethod{name, "as asked for"};
    auto made = make_gpu_timer(device(), builder_, method);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made).value();
  }

  TimedWork spins(std::uint64_t ns, int kernels = 1) {
    return [this, ns, kernels](std::int64_t, Stream stream) -> Status {
      KernelLaunch one;
      one.kernel = spin_;
      one.stream = stream;
      for (int i = 0; i < kernels; ++i) MGTUNE_TRY(launch(one, ns));
      return {};
    };
  }

  double median_ns(Timer& timer, const TimedWork& work) {
    const Result<Timing> timing = timer.time(work, {});
    EXPECT_TRUE(timing.ok()) << timing.status().message();
    if (!timing.ok()) return -1;
    const SampleSummary summary = summarise(timing->samples_ns);
    std::cout << timer.method() << ": " << summary.median << " ns, " << summary.count
              << " samples, q1 " << summary.q1 << ", q3 " << summary.q3 << " " << timing->note
              << std::endl;
    return summary.median;
  }

  // Under another profiler or a debugger CUPTI cannot be had; otherwise it has to be.
  static bool is_by_cupti(const Timer& timer) {
    if (timer.method() == "rotating") return true;
    const std::string reason = default_gpu_method().reason;
    std::cout << "CUPTI WAS NOT TESTED: " << reason << std::endl;
    EXPECT_THAT(reason, testing::HasSubstr("another tool holds CUPTI"));
    return false;
  }

  Builder builder_{BuildCache(FileSystem::real(), ""),
                   [](const std::string& arch) { return make_nvrtc_compiler(arch); }};
  const Kernel* spin_ = nullptr;
};

// The clock that a kernel can read ticks every 32 ns to 1 us.
TEST_F(GpuTimers, AgreeOnALongKernel) {
  const double expected_ns = 200e3;
  const TimedWork work = spins(200'000);
  EXPECT_THAT(median_ns(*timer("rotating"), work), DoubleNear(expected_ns, 8e3));
  EXPECT_THAT(median_ns(*timer("rotating_events"), work), DoubleNear(expected_ns, 8e3));
  EXPECT_THAT(median_ns(*timer("graph"), work), DoubleNear(expected_ns, 8e3));
}

TEST_F(GpuTimers, CuptiSeesNeitherGapsNorLaunches) {
  const auto one = timer("rotating");
  if (!is_by_cupti(*one)) return;
  EXPECT_THAT(median_ns(*one, spins(10'000)), DoubleNear(10'500, 1500));
  const double short_ns = median_ns(*one, spins(0));
  EXPECT_GT(short_ns, 100);
  EXPECT_LT(short_ns, 3000);
}

TEST_F(GpuTimers, CuptiSpansAllOperationsOfACall) {
  const auto one = timer("rotating");
  if (!is_by_cupti(*one)) return;
  EXPECT_THAT(median_ns(*one, spins(20'000, 3)), DoubleNear(62e3, 6e3));

  const std::size_t bytes = 64 << 20;
  const Buffer buffer = Buffer::allocate(device(), bytes).value();
  const TimedWork spin = spins(20'000);
  const TimedWork with_memset = [&](std::int64_t turn, Stream stream) -> Status {
    MGTUNE_TRY(device().fill_bytes(buffer.data(), 0, bytes, stream));
    return spin(turn, stream);
  };
  // 64 MiB at no more than 20 TB/s.
  EXPECT_GT(median_ns(*one, with_memset), 20'000 + 3300);
}

TEST_F(GpuTimers, TheGraphMethodAmortisesLaunches) {
  const double ns = median_ns(*timer("graph"), spins(0));
  EXPECT_GT(ns, 100);
  EXPECT_LT(ns, 4000);
}

// Two clocks of different make: what they agree on is the kernel.
TEST_F(GpuTimers, CuptiAndGraphReplayAgreeWithinThreeTenthsOfAMicrosecond) {
  const Kernel* const cycles = kernel(R"(
__global__ void count(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
})",
                                      "count");
  const Kernel* const empty = kernel("__global__ void empty(long long) {}", "empty");
  for (const auto& [name, which, argument] : {std::tuple{"empty", empty, std::int64_t{0}},
                                              std::tuple{"3 us", cycles, std::int64_t{5000}}}) {
    const Kernel* const work_kernel = which;
    const std::int64_t work_argument = argument;
    const TimedWork work = [&](std::int64_t, Stream stream) {
      KernelLaunch one;
      one.kernel = work_kernel;
      one.stream = stream;
      return launch(one, work_argument);
    };
    double cupti_ns = 0;
    {
      const auto cupti = timer("rotating");
      if (!is_by_cupti(*cupti)) return;
      cupti_ns = median_ns(*cupti, work);
    }
    const double graph_ns = median_ns(*timer("graph"), work);
    std::cout << name << ": CUPTI " << cupti_ns << " ns, graph replay " << graph_ns << " ns\n";
    EXPECT_NEAR(cupti_ns, graph_ns, 300) << name;
  }
}

TEST_F(GpuTimers, ColdDataComesFromMemoryAndHotDataFromTheCache) {
  const Kernel* const sum = kernel(R"(
__global__ void sum(const float4* in, float* out, int n) {
  float total = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float4 v = in[i];
    total += v.x + v.y + v.z + v.w;
  }
  if (total == 12345.0f) *out = total;
})",
                                   "sum");
  const std::size_t bytes = 16 << 20;
  const Buffer in = Buffer::allocate(device(), bytes).value();
  const Buffer out = Buffer::allocate(device(), 4).value();
  ASSERT_TRUE(device().fill_bytes(in.data(), 0x11, bytes, nullptr).ok());
  const TimedWork work = [&](std::int64_t, Stream stream) {
    KernelLaunch one;
    one.kernel = sum;
    one.grid = {264, 1, 1};
    one.block = {1024, 1, 1};
    one.stream = stream;
    return launch(one, in.data(), out.data(), static_cast<int>(bytes / 16));
  };
  double hot_ns = 0;
  {
    const auto hot = timer("hot");
    hot_ns = median_ns(*hot, work);
  }
  const double cold_ns = median_ns(*timer("cold"), work);
  std::cout << "16 MiB read: hot " << hot_ns << " ns, cold " << cold_ns << " ns\n";
  EXPECT_LT(hot_ns, 0.9 * cold_ns);
}

TEST_F(GpuTimers, InTurnEqualWorkIsEqualAndSlowerWorkSlower) {
  const auto one = timer("rotating");
  if (!is_by_cupti(*one)) return;
  const std::vector<TimedWork> works = {spins(20'000), spins(22'000), spins(20'000)};
  const Result<TurnTiming> timing = one->time_in_turn(works, {});
  ASSERT_TRUE(timing.ok()) << timing.status().message();
  const auto ratio = [&](std::size_t a, std::size_t b) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < timing->samples_ns[a].size(); ++round) {
      ratios.push_back(timing->samples_ns[a][round] / timing->samples_ns[b][round]);
    }
    return summarise(ratios).median;
  };
  EXPECT_THAT(ratio(2, 0), DoubleNear(1, 0.01));
  EXPECT_THAT(ratio(1, 0), DoubleNear(1.1, 0.02));
  EXPECT_GT(timing->clocks.sm_mhz, 100) << "NVML was read";
}

TEST_F(GpuTimers, NothingIsHeldUp) {
  for (const char* method : {"rotating", "rotating_events", "graph"}) {
    const Result<Timing> timing = timer(method)->time(spins(1000, 2), {});
    ASSERT_TRUE(timing.ok()) << timing.status().message();
    EXPECT_THAT(timing->note, testing::Not(testing::HasSubstr("not queued ahead"))) << method;
  }
}

TEST_F(GpuTimers, TwoTimersDoNotShareCupti) {
  const auto first = timer("rotating");
  if (!is_by_cupti(*first)) return;
  const TimingMethod second = default_gpu_method();
  EXPECT_EQ(second.name, "rotating_events");
  EXPECT_THAT(second.reason, testing::HasSubstr("holds CUPTI"));
  EXPECT_THAT(median_ns(*first, spins(50'000)), DoubleNear(50'500, 3e3));
}

TEST_F(GpuTimers, TheCopyCeilingIsARateOfMemory) {
  const auto one = timer("rotating");
  for (const std::int64_t bytes : {std::int64_t{4} << 20, std::int64_t{256} << 20}) {
    const Result<CeilingRecord> copy = measure_ceiling(device(), builder_, *one, "copy", bytes);
    ASSERT_TRUE(copy.ok()) << copy.status().message();
    const double rate = copy->rate * 1e-9;
    std::cout << "copy of " << (bytes >> 20) << " MiB: " << rate << " GB/s" << std::endl;
    EXPECT_GT(rate, 50);
    EXPECT_LT(rate, 20'000);
  }
}

TEST_F(GpuTimers, TheBufferRotationKnowsTheFreeMemory) {
  const Result<BufferRotation> rotation = plan_buffer_rotation(device(), std::int64_t{1} << 50);
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  EXPECT_EQ(rotation->sets, 1);
  EXPECT_THAT(rotation->note, testing::StartsWith("too little free memory to rotate: "));
}

}  // namespace
}  // namespace mgtune
