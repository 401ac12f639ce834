// libmgruntime on a real GPU: launches that are right one by one and inside a CUDA graph, and a
// process that starts from the build cache without loading NVRTC.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/real_gpu.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

constexpr std::int64_t kRows = 300, kHidden = 1000;
constexpr double kEps = 1e-5;
constexpr double kScalars[] = {kEps, 0};  // eps, weight_offset

std::string loaded_libraries() {
  std::ifstream maps("/proc/self/maps");
  std::ostringstream text;
  text << maps.rdbuf();
  return text.str();
}

class MgruntimeOnGpu : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped()) return;
    // A child of the last test keeps its parent's.
    if (std::getenv("MGTUNE_CACHE_DIR") == nullptr) {
      ::setenv("MGTUNE_CACHE_DIR", folder().file("cache").c_str(), 1);
    }
  }

  static TestFolder& folder() {
    static TestFolder folder;
    return folder;
  }

  // Opens the first GPU and plans rmsnorm.forward in f32.
  void plan() {
    mgr_open_options_t open{};
    open.struct_size = sizeof(open);
    open.device = "0";
    const std::string database = folder().file("none.db");
    open.database = database.c_str();
    ASSERT_EQ(mgr_open(&open, &context_), MGR_OK) << mgr_last_error();
    const MgrPlanOptions options("rmsnorm.forward", {{"hidden", "1000"}, {"T", "f32"}},
                                 {{"rows", 1, 4096}});
    ASSERT_EQ(mgr_plan(context_, options.get(), &plan_), MGR_OK) << mgr_last_error();
  }

  void TearDown() override {
    mgr_plan_free(plan_);
    mgr_close(context_);
    RealGpuTest::TearDown();
  }

  mgr_context_t* context_ = nullptr;
  mgr_plan_t* plan_ = nullptr;
};

TEST_F(MgruntimeOnGpu, LaunchesAreRightOneByOneAndInAGraph) {
  plan();
  if (HasFatalFailure()) return;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kHidden), weight(kHidden), y(x.size());
  for (float& value : weight) value = normal(random);
  const std::size_t bytes = x.size() * sizeof(float);
  const Buffer on_x = Buffer::allocate(device(), bytes).value();
  const Buffer on_y = Buffer::allocate(device(), bytes).value();
  const Buffer on_weight = Buffer::allocate(device(), weight.size() * sizeof(float)).value();
  ASSERT_TRUE(device().copy_to_device(on_weight.data(), weight.data(), on_weight.bytes()).ok());

  const std::array<std::int64_t, 2> dims = {kRows, -1};
  const std::array<void*, 4> tensors = {on_x.data(), on_weight.data(), on_y.data(), nullptr};
  const auto launch = [&](void* stream) {
    return mgr_launch(plan_, stream, dims.data(), dims.size(), tensors.data(), tensors.size(),
                      kScalars, 2, nullptr);
  };
  const auto fresh_input = [&] {
    for (float& value : x) value = normal(random);
    ASSERT_TRUE(device().copy_to_device(on_x.data(), x.data(), bytes).ok());
    ASSERT_TRUE(device().fill_bytes(on_y.data(), 0xff, bytes, nullptr).ok());
    ASSERT_TRUE(device().synchronize(nullptr).ok());
  };
  const auto expect_right = [&](const char* how) {
    ASSERT_TRUE(device().copy_to_host(y.data(), on_y.data(), bytes).ok());
    for (std::size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < kHidden; ++i) sum += std::pow(double(x[row * kHidden + i]), 2);
      const double scale = 1 / std::sqrt(sum / kHidden + kEps);
      for (std::size_t i = 0; i < kHidden; ++i) {
        const double expected = x[row * kHidden + i] * scale * weight[i];
        ASSERT_NEAR(y[row * kHidden + i], expected, 4e-6 * (1 + std::abs(expected)))
            << how << ", row " << row << ", column " << i;
      }
    }
  };

  const CudaDriver& driver = *cuda_driver();
  CUstream stream = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  fresh_input();
  ASSERT_EQ(launch(stream), MGR_OK) << mgr_last_error();
  ASSERT_TRUE(device().synchronize(stream).ok());
  expect_right("one launch");

  CUgraph graph = nullptr;
  CUgraphExec replay = nullptr;
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(stream), MGR_OK) << mgr_last_error();
  // Planning while a stream of this thread is captured leaves the capture valid.
  mgr_plan_t* const first = plan_;
  mgr_context_t* const first_context = context_;
  plan();
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  mgr_plan_free(plan_);
  mgr_close(context_);
  plan_ = first;
  context_ = first_context;
  ASSERT_EQ(driver.cuGraphInstantiate(&replay, graph, 0), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    fresh_input();
    ASSERT_EQ(driver.cuGraphLaunch(replay, stream), CUDA_SUCCESS);
    ASSERT_TRUE(device().synchronize(stream).ok());
    expect_right("a replay");
  }
  driver.cuGraphExecDestroy(replay);
  driver.cuGraphDestroy(graph);
  driver.cuStreamDestroy(stream);
}

TEST_F(MgruntimeOnGpu, ASecondProcessLoadsNoNvrtc) {
  plan();  // compiles
  if (HasFatalFailure()) return;
  EXPECT_THAT(loaded_libraries(), testing::HasSubstr("libnvrtc"));
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      self + " --gtest_also_run_disabled_tests --gtest_filter='*DISABLED_PlansFromTheCache'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(MgruntimeOnGpu, DISABLED_PlansFromTheCache) {  // the second process of the test above
  plan();
  if (HasFatalFailure()) return;
  EXPECT_THAT(loaded_libraries(), testing::Not(testing::HasSubstr("libnvrtc")));
}

}  // namespace
}  // namespace mgtune
