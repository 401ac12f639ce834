// A pack on a real GPU: what it holds is loaded and right without NVRTC, and what a launch costs on
// the host beside the driver's own entry for the same kernel. first_launch_test has what the start
// of a process costs.

#include "pack/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/operators.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/fakes/stand_in_gpu.h"
#include "tests/helpers/gpu_table.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/real_gpu.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kPackedRows = 512, kPackedHidden = 1024;  // of rmsnorm_table()'s pick
constexpr std::uint16_t kOne = 0x3f80;                           // in bf16

class PackOnGpu : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped()) return;
    const DeviceInfo& here = device().info();
    std::ofstream(folder_.file("here.tuned.json")) << rmsnorm_table_for(here);
    MgtuneProgram mgtune(folder_.file("cache"));
    mgtune.with_variable("MGTUNE_NVRTC_PATH", "");  // which this process does without
    const Ended ended = mgtune.run({"pack", "--kernel", "rmsnorm", "--gpu", here.name, "--table",
                                    folder_.file("here.tuned.json"), "-o", pack()});
    ASSERT_EQ(ended.exit_code, 0) << ended;
  }
  void TearDown() override {
    for (void* memory : {x_, weight_, y_}) mgr_free(context_, memory);
    mgr_plan_free(plan_);
    mgr_close(context_);
    RealGpuTest::TearDown();
  }

  std::string pack() const { return folder_.file("here.mgpack"); }

  // With neither a cache nor a compiler.
  void open() {
    const std::string path = pack();
    mgr_open_options_t open{};
    open.struct_size = sizeof(open);
    open.device = "0";
    open.database = path.c_str();
    ASSERT_EQ(mgr_open(&open, &context_), MGR_OK) << mgr_last_error();
    const MgrPlanOptions options("rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}},
                                 {{"rows", 1, kPackedRows}});
    ASSERT_EQ(mgr_plan(context_, options.get(), &plan_), MGR_OK) << mgr_last_error();
    const std::vector<std::uint16_t> ones(kPackedRows * kPackedHidden, kOne);
    for (void** memory : {&x_, &weight_, &y_}) {
      ASSERT_EQ(mgr_allocate(context_, 2 * ones.size(), memory), MGR_OK);
    }
    for (void* memory : {x_, weight_}) {
      ASSERT_EQ(mgr_copy_to_device(context_, memory, ones.data(), 2 * ones.size()), MGR_OK);
    }
  }

  mgr_status_t launch() const {
    return mgr_rmsnorm_forward(plan_, nullptr, kPackedRows, -1, x_, weight_, y_, nullptr, 0, 0,
                               nullptr);
  }

  const TestFolder folder_;
  const Variable no_cache_{"MGTUNE_CACHE_DIR", folder_.file("empty")};
  const Variable no_nvrtc_{"MGTUNE_NVRTC_PATH", "/nowhere/libnvrtc.so.13"};
  mgr_context_t* context_ = nullptr;
  mgr_plan_t* plan_ = nullptr;
  void *x_ = nullptr, *weight_ = nullptr, *y_ = nullptr;
};

TEST_F(PackOnGpu, IsRightWithoutACompiler) {
  ASSERT_FALSE(is_loaded("libnvrtc")) << "run this test in a process of its own, as ctest does";
  const auto start = std::chrono::steady_clock::now();
  open();
  if (HasFatalFailure()) return;
  ASSERT_EQ(launch(), MGR_OK) << mgr_last_error();
  ASSERT_EQ(mgr_synchronize(context_, nullptr), MGR_OK) << mgr_last_error();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  std::cout << "mgr_open to the end of the first launch: " << time.count() << " ms" << std::endl;
  std::vector<std::uint16_t> y(kPackedRows * kPackedHidden);
  ASSERT_EQ(mgr_copy_to_host(context_, y.data(), y_, 2 * y.size()), MGR_OK);
  EXPECT_EQ(std::ranges::count(y, kOne), std::ssize(y));
  std::array<char, 4096> text{};
  const std::array<std::int64_t, 2> dims = {kPackedRows, -1};
  ASSERT_EQ(mgr_explain(plan_, dims.data(), 2, text.data(), text.size(), nullptr), MGR_OK);
  EXPECT_THAT(text.data(), HasSubstr("exact problem"));
  EXPECT_FALSE(is_loaded("libnvrtc"));
}

TEST_F(PackOnGpu, ALaunchBesideTheDriversOwn) {
  open();
  if (HasFatalFailure()) return;
  const Pack read = *decode_pack(file_content(pack()));
  const auto pick = std::ranges::find_if(read.builds, [](const PackedBuild& packed) {
    return packed.build.kernels.front().name.find(kRmsnormPick) != std::string::npos;
  });
  ASSERT_NE(pick, read.builds.end());
  const auto module = device().load(pick->build);
  ASSERT_TRUE(module.ok()) << module.status().message();
  const Kernel* const kernel = *(*module)->kernel(pick->build.kernels.front().name);
  ASSERT_EQ(kernel->parameter_bytes().size(), 9U);
  void* no_rstd = nullptr;
  std::int64_t rows = kPackedRows, stride = kPackedHidden;
  float eps = 0, offset = 0;
  std::uint32_t pdl_blocks = 0;  // the pick does not use it
  std::array<void*, 9> arguments = {&x_,     &weight_, &y_,     &no_rstd,   &rows,
                                    &stride, &eps,     &offset, &pdl_blocks};
  CUlaunchConfig config{};
  config.gridDimX = kPackedRows;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kRmsnormPickThreads;
  config.blockDimY = config.blockDimZ = 1;
  const auto function = reinterpret_cast<CUfunction>(cuda_kernel_handle(*kernel));
  constexpr int kLaunches = 500, kLaunchRounds = 41;  // fewer launches than a queue holds
  const auto ns_each = [&](const auto& body) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) body();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(mgr_synchronize(context_, nullptr), MGR_OK) << mgr_last_error();
    return time.count() / kLaunches;
  };
  const auto median = [](std::vector<double> times) {
    std::ranges::nth_element(times, times.begin() + kLaunchRounds / 2);
    return times[kLaunchRounds / 2];
  };
  std::vector<double> raw_times, our_times;  // in turn: what else the machine does strikes both
  for (int round = 0; round < kLaunchRounds; ++round) {
    raw_times.push_back(ns_each([&] {
      EXPECT_EQ(cuda_driver()->cuLaunchKernelEx(&config, function, arguments.data(), nullptr),
                CUDA_SUCCESS);
    }));
    our_times.push_back(ns_each([&] { EXPECT_EQ(launch(), MGR_OK); }));
  }
  const double raw = median(raw_times), ours = median(our_times);
  std::cout << "host time of a launch: mgr_launch " << ours << " ns, cuLaunchKernelEx " << raw
            << " ns, ratio " << ours / raw << std::endl;
}

}  // namespace
}  // namespace mgtune
