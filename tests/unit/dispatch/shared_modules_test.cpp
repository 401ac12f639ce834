#include "device/shared_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "dispatch/plan.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

constexpr int kThreads = 64;

class SharedModulesTest : public testing::Test {
 protected:
  SharedModulesTest() { declare_toy_kernels(device_); }

  static Build build_of(const std::string& binary, const std::string& kernel = "norm<4>") {
    Build build;
    build.arch = "sm_90";
    build.binary = binary;
    build.sha256 = sha256_hex(binary);
    build.kernels = {{kernel, "norm_4"}};
    return build;
  }

  std::unique_ptr<Plan> plan(DimRange rows) {
    Builder builder = fake_builder();
    return must(Plan::make(modules_, builder, binding_, {rows, {1, 0}}, {}));
  }

  FakeDevice device_;
  SharedModules modules_{device_};
  const Operator op_ = toy_norm();
  const Binding binding_ = bound(op_, {{"hidden", "64"}, {"T", "f32"}});
};

TEST_F(SharedModulesTest, AModuleIsLoadedOnceAndGoesWithItsLastUser) {
  std::shared_ptr<const Module> first = must(modules_.load(build_of("a")));
  std::shared_ptr<const Module> second = must(modules_.load(build_of("a")));
  EXPECT_EQ(first, second);
  EXPECT_EQ(device_.loads, 1);
  first.reset();
  EXPECT_EQ(device_.modules_alive, 1);
  second.reset();
  EXPECT_EQ(device_.modules_alive, 0);
  second = must(modules_.load(build_of("a")));
  EXPECT_EQ(device_.loads, 2) << "what was unloaded is loaded again";
  EXPECT_TRUE(second->kernel("norm<4>").ok());
}

TEST_F(SharedModulesTest, OtherBinariesAreOtherModules) {
  const auto a = must(modules_.load(build_of("a"))), b = must(modules_.load(build_of("b")));
  EXPECT_NE(a, b);
  EXPECT_EQ(device_.loads, 2);
}

// Two spellings of one instantiation are one symbol, and so one binary.
TEST_F(SharedModulesTest, OneBinaryUnderTwoNamesIsFoundUnderBoth) {
  const auto a = must(modules_.load(build_of("a", "norm<4>")));
  const auto b = must(modules_.load(build_of("a", "norm<2 + 2>")));
  EXPECT_TRUE(a->kernel("norm<4>").ok());
  EXPECT_TRUE(b->kernel("norm<2 + 2>").ok());
}

TEST_F(SharedModulesTest, AFailedLoadIsNotKept) {
  device_.on_load = [](const Build&) { return environment_error("no memory left"); };
  EXPECT_EQ(modules_.load(build_of("a")).status().message(), "no memory left");
  device_.on_load = nullptr;
  EXPECT_TRUE(modules_.load(build_of("a")).ok());
  EXPECT_EQ(device_.loads, 2);
}

TEST_F(SharedModulesTest, PlansOfAProblemShareTheirModules) {
  std::unique_ptr<Plan> all = plan({1, 65536});
  const std::int64_t loads = device_.loads;
  EXPECT_EQ(loads, static_cast<std::int64_t>(all->variants().size()));
  const std::unique_ptr<Plan> few = plan({1, 16});
  EXPECT_EQ(few->variants(), all->variants());
  EXPECT_EQ(device_.loads, loads);
  EXPECT_EQ(device_.modules_alive, loads);
  all.reset();
  EXPECT_EQ(device_.modules_alive, loads) << "the other plan launches from them";
  alignas(16) std::array<float, 4> memory{};
  const std::array<std::int64_t, 2> dims = {8, -1};
  const std::array<void*, 3> tensors = {memory.data(), memory.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  EXPECT_TRUE(few->launch({dims, tensors, scalars, nullptr, nullptr}).ok());
  EXPECT_EQ(device_.launches, 1);
}

TEST_F(SharedModulesTest, TheLastPlanThatGoesUnloads) {
  plan({1, 16});
  EXPECT_GT(device_.loads, 0);
  EXPECT_EQ(device_.modules_alive, 0);
}

TEST_F(SharedModulesTest, ManyThreadsThatPlanAtOnceLoadEachModuleOnce) {
  std::vector<std::unique_ptr<Plan>> plans(kThreads);
  std::latch ready(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::unique_ptr<Plan>& made : plans) {
      threads.emplace_back([&] {
        ready.arrive_and_wait();
        made = plan({1, 65536});
      });
    }
  }
  EXPECT_EQ(device_.loads, static_cast<std::int64_t>(plans.front()->variants().size()));
  EXPECT_EQ(device_.modules_alive, device_.loads);
  plans.clear();
  EXPECT_EQ(device_.modules_alive, 0);
}

}  // namespace
}  // namespace mgtune
