#include "dispatch/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <thread>

#include "dispatch/dispatch_table.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/replaced.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr DimRange kAtDefault{1, 0};

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    declare_toy_kernels(device_);
    device_.on_launch = [this](const KernelLaunch& launch) -> Status {
      last_ = launch.kernel->name();
      return {};
    };
  }

  Result<std::unique_ptr<Plan>> make(const std::vector<TunedEntry>& tuned,
                                     const std::string& broken = "", bool strict = false,
                                     DimRange rows = {1, 65536}) {
    Builder builder = fake_builder(broken);
    return Plan::make(modules_, builder, binding_, {rows, kAtDefault}, tuned, strict);
  }

  std::unique_ptr<Plan> made(const std::vector<TunedEntry>& tuned, const std::string& broken = "",
                             bool strict = false) {
    Result<std::unique_ptr<Plan>> plan = make(tuned, broken, strict);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return std::move(plan).value();
  }

  // What ran: the kernel's name, or the failure's message.
  std::string run(const Plan& plan, std::int64_t rows, std::int64_t x_stride = -1,
                  std::size_t offset = 0) {
    last_.clear();
    const std::array<std::int64_t, 2> dims = {rows, x_stride};
    const std::array<void*, 3> tensors = {memory_.data() + offset, memory_.data(), nullptr};
    const std::array<ScalarValue, 1> scalars{};
    const Status status = plan.launch({dims, tensors, scalars, nullptr, nullptr});
    return status.ok() ? last_ : status.message();
  }

  TunedEntry entry(const std::string& rows, const std::string& variant) {
    return tuned_entry(op_, "rows=" + rows + ",hidden=64,T=f32", variant, device_.info());
  }

  FakeDevice device_;
  SharedModules modules_{device_};
  std::string last_;
  const Operator op_ = toy_norm();
  const Binding binding_ = bound(op_, {{"hidden", "64"}, {"T", "f32"}});
  alignas(16) std::array<float, 16> memory_{};
};

TEST_F(PlanTest, RunsTheLadderWhereNothingIsTuned) {
  const auto plan = made({});
  EXPECT_THAT(plan->variants(), ElementsAre("row THREADS=128 VEC=4", "row THREADS=32 VEC=1"));
  EXPECT_EQ(run(*plan, 8), "norm<float, 64, 128, 4, false>");
  EXPECT_EQ(run(*plan, 8, 65), "norm<float, 64, 32, 1, false>");
  EXPECT_EQ(run(*plan, 8, -1, 1), "norm<float, 64, 32, 1, false>") << "x is off by one float";
  const Result<Plan::Explanation> why = plan->explain({8, -1});
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->variant, "row THREADS=128 VEC=4");
  EXPECT_EQ(why->step, SelectionStep::default_ladder);
  EXPECT_THAT(why->reason, HasSubstr("no tuned problem is near"));
  EXPECT_THAT(why->improvement, HasSubstr("mgtune sweep toy.norm --problem"));
}

TEST_F(PlanTest, HasOnlyTheVariantThatWasNamed) {
  const std::vector<TunedEntry> tuned = {entry("2048", "row THREADS=64 VEC=4")};
  const auto named = [&](const std::string& text, const std::string& broken = "") {
    Builder builder = fake_builder(broken);
    return Plan::make(modules_, builder, binding_, {{1, 65536}, kAtDefault}, tuned, true,
                      must(parse_variant(op_, text)));
  };
  const auto plan = must(named("row THREADS=256 VEC=4"));
  EXPECT_THAT(plan->variants(), ElementsAre("row THREADS=256 VEC=4"));
  EXPECT_EQ(run(*plan, 2048), "norm<float, 64, 256, 4, false>");
  const Result<Plan::Explanation> why = plan->explain({2048, -1});
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->step, SelectionStep::named);
  EXPECT_EQ(why->improvement, "");
  EXPECT_THAT(run(*plan, 8, -1, 1), HasSubstr("no variant of the plan serves this call"));
  const Status broken = named("row THREADS=256 VEC=4", "256, 4").status();
  EXPECT_EQ(broken.code(), StatusCode::compile_failed) << broken.message();
}

TEST_F(PlanTest, RefusesANamedVariantThatFailedHere) {
  Evidence evidence;
  evidence.failed.add(gpu_record(device_.info()), "toy.norm", "row THREADS=64 VEC=4",
                      Outcome::wrong);
  Builder builder = fake_builder("");
  const Status status = Plan::make(modules_, builder, binding_, {{1, 65536}, kAtDefault}, evidence,
                                   false, must(parse_variant(op_, "row THREADS=64 VEC=4")))
                            .status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("row THREADS=64 VEC=4 failed before on"));
}

TEST_F(PlanTest, LaunchesTheVariantOfANearTunedProblem) {
  const auto plan =
      made({entry("2048", "row THREADS=64 VEC=4"), entry("4096", "row THREADS=256 VEC=4")});
  EXPECT_EQ(run(*plan, 1366), "norm<float, 64, 64, 4, false>");
  EXPECT_EQ(run(*plan, 1365), "norm<float, 64, 128, 4, false>") << "more than 1.5 times as few";
  EXPECT_EQ(run(*plan, 2896), "norm<float, 64, 64, 4, false>");
  EXPECT_EQ(run(*plan, 2897), "norm<float, 64, 256, 4, false>");
  EXPECT_EQ(run(*plan, 6144), "norm<float, 64, 256, 4, false>");
  EXPECT_EQ(run(*plan, 6145), "norm<float, 64, 128, 4, false>");
  EXPECT_EQ(run(*plan, 4096, 66), "norm<float, 64, 32, 1, false>") << "the stride is odd for VEC=4";
  Result<Plan::Explanation> why = plan->explain({4096, -1});
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->step, SelectionStep::exact);
  EXPECT_EQ(why->reason, "tuned for rows=4096 hidden=64 T=f32 on Fake H200");
  EXPECT_EQ(why->expected_ns, 1000);
  why = plan->explain({4095, -1});
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->step, SelectionStep::near_problem);
  EXPECT_EQ(why->expected_ns, 0) << "the time of 4096 rows is not that of 4095";
  why = plan->explain({4096, 65});
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->variant, "row THREADS=32 VEC=1");
  EXPECT_EQ(why->step, SelectionStep::default_ladder);
}

// The tuned variant puts the rows into the second extent of its grid, which ends at 65,535.
TEST_F(PlanTest, TriesTheNextVariantIfTheGeometryIsImpossible) {
  const Operator op = decode_toy("toy.norm", replaced(kToyNorm, R"("grid": ["rows"])",
                                                      R"("grid": ["THREADS == 256 ? 1 : rows",
                                                                  "THREADS == 256 ? rows : 1"])"));
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  Builder builder = fake_builder();
  const std::vector<TunedEntry> tuned = {
      tuned_entry(op, "rows=65536,hidden=64,T=f32", "row THREADS=256 VEC=4", device_.info())};
  const Result<std::unique_ptr<Plan>> plan =
      Plan::make(modules_, builder, binding, {{1, 100000}, kAtDefault}, tuned, false);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(run(**plan, 65535), "norm<float, 64, 256, 4, false>");
  EXPECT_EQ(run(**plan, 65536), "norm<float, 64, 128, 4, false>");
  const Result<Plan::Explanation> why = (*plan)->explain({65536, -1});
  ASSERT_TRUE(why.ok()) << why.status().message();
  EXPECT_EQ(why->variant, "row THREADS=128 VEC=4") << "what runs is what is explained";
}

TEST_F(PlanTest, AgreesWithSelectOnEveryShape) {
  std::vector<TunedEntry> tuned;
  for (const char* threads : {"32", "64", "128", "256"}) {
    tuned.push_back(entry(std::to_string(std::stoi(threads) * 7),
                          std::string("row THREADS=") + threads + " VEC=4"));
  }
  const auto plan = made(tuned);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t rows = std::uniform_int_distribution<std::int64_t>(1, 5000)(random);
    const Result<Problem> problem = complete(binding_, {{"rows", rows}});
    ASSERT_TRUE(problem.ok());
    const Result<Plan::Explanation> why = plan->explain({rows, -1});
    ASSERT_TRUE(why.ok());
    EXPECT_EQ(why->variant,
              variant_text(op_, select_variants(*problem, device_.info(), tuned).front().variant))
        << rows;
  }
}

TEST_F(PlanTest, FallsBackWhenATunedVariantDoesNotBuild) {
  const auto plan = made(
      {entry("16", "row THREADS=64 VEC=4"), entry("17", "row THREADS=256 VEC=4")}, "64, 64, 4");
  EXPECT_EQ(run(*plan, 17), "norm<float, 64, 256, 4, false>");
  EXPECT_EQ(run(*plan, 16), "norm<float, 64, 256, 4, false>") << "17 rows are near";
  const Result<Plan::Explanation> why = plan->explain({16, -1});
  ASSERT_TRUE(why.ok());
  EXPECT_THAT(why->reason, HasSubstr("; left out: row THREADS=64 VEC=4: error: broken on purpose"));
}

TEST_F(PlanTest, FallsBackToTheNextOfTheLadder) {
  EXPECT_EQ(run(*made({}, "64, 128, 4"), 8), "norm<float, 64, 64, 2, false>");
}

TEST_F(PlanTest, FailsWhenNothingBuilds) {
  const Result<std::unique_ptr<Plan>> plan = make({}, "norm");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::compile_failed);
  EXPECT_THAT(plan.status().message(), HasSubstr("toy.norm: row THREADS="));
  EXPECT_THAT(plan.status().message(), HasSubstr("broken on purpose"));
}

TEST_F(PlanTest, FlagsOrRefusesOtherBuilds) {
  TunedEntry stale = entry("16", "row THREADS=64 VEC=4");
  stale.build_sha256 = std::string(64, 'a');
  const auto lenient = made({stale});
  EXPECT_EQ(run(*lenient, 16), "norm<float, 64, 64, 4, false>");
  EXPECT_THAT(lenient->explain({16, -1})->reason, HasSubstr(", with another build"));
  const auto strict = made({stale}, "", true);
  EXPECT_EQ(run(*strict, 16), "norm<float, 64, 128, 4, false>");
  EXPECT_THAT(strict->explain({16, -1})->reason, HasSubstr("not the one that was measured"));
}

TEST_F(PlanTest, HoldsFewVariantsOfManyRows) {
  std::vector<TunedEntry> tuned;
  for (int i = 0; i < 12; ++i) {
    const std::array<const char*, 4> threads = {"32", "64", "128", "256"};
    const std::array<const char*, 3> widths = {"1", "2", "4"};
    tuned.push_back(entry(std::to_string(1 << i), std::string("row THREADS=") +
                                                      threads[std::size_t(i) % 4] +
                                                      " VEC=" + widths[std::size_t(i) / 4]));
  }
  const auto plan = made(tuned);
  EXPECT_LE(plan->variants().size(), kMaxPlanVariants);
  EXPECT_THAT(plan->variants(), testing::Contains("row THREADS=32 VEC=1"));
}

TEST_F(PlanTest, ChecksRanges) {
  const auto message = [&](const std::vector<DimRange>& ranges) {
    Builder builder = fake_builder();
    return Plan::make(modules_, builder, binding_, ranges, {}).status().message();
  };
  EXPECT_EQ(message({{1, 8}}), "toy.norm: 1 ranges given, 2 dims declared");
  EXPECT_EQ(message({kAtDefault, kAtDefault}),
            "toy.norm: dim 'rows' needs a range; it has no default");
  EXPECT_EQ(message({{-4, 8}, kAtDefault}), "toy.norm: the range of dim 'rows' starts at -4");
  EXPECT_THAT(message({{2000000, 3000000}, kAtDefault}), HasSubstr("rows <= 1000000"));
}

// Planning looks one beyond a stride, and there is nothing beyond the largest.
TEST_F(PlanTest, ARangeMayEndAtTheLargestStride) {
  Builder builder = fake_builder("");
  const DimRange largest{std::numeric_limits<std::int64_t>::max(),
                         std::numeric_limits<std::int64_t>::max()};
  const Result<std::unique_ptr<Plan>> plan =
      Plan::make(modules_, builder, binding_, {{1, 4}, largest}, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT((*plan)->variants(), ElementsAre("row THREADS=32 VEC=1"));
}

TEST_F(PlanTest, SaysWhyNoVariantServes) {
  const std::string only_wide =
      std::string(kToyNorm).replace(std::string(kToyNorm).find("\"defaults\""), std::string::npos,
                                    R"("defaults": [{"THREADS": 128, "VEC": 4}]}}})");
  const Operator op = decode_toy("toy.norm", only_wide);
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  Builder builder = fake_builder();
  const Result<std::unique_ptr<Plan>> plan =
      Plan::make(modules_, builder, binding, {{1, 8}, kAtDefault}, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(run(**plan, 8, 65),
            "toy.norm rows=8 x_stride=65: no variant of the plan serves this call; row THREADS=128 "
            "VEC=4: the constraint x_stride % VEC == 0 does not hold");
  EXPECT_EQ(run(**plan, -1), "toy.norm: dim 'rows' has no default");
}

// splits * batch is largest somewhere inside the range of batch, not at an end of it.
TEST_F(PlanTest, ReservesWorkspaceForEveryShapeInItsRanges) {
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  Builder builder = fake_builder();
  const Result<std::unique_ptr<Plan>> plan =
      Plan::make(modules_, builder, binding, {{1, 1200}, {1, 65536}}, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const LoadedVariant::WorkspaceSize size = (*plan)->workspace_size();
  EXPECT_EQ(size.zeroed_bytes, 4864);  // 1200 tickets
  std::unique_ptr<void, void (*)(void*)> workspace(
      std::aligned_alloc(256, std::size_t((size.bytes + 255) / 256 * 256)), std::free);
  ASSERT_TRUE((*plan)->init_workspace(workspace.get(), nullptr).ok());
  alignas(16) std::array<float, 4> tensor{};
  const std::array<void*, 2> tensors = {tensor.data(), tensor.data()};
  for (std::int64_t batch = 1; batch <= 1200; ++batch) {
    if (batch == 13) continue;
    const std::array<std::int64_t, 2> dims = {batch, 65536};
    const Status status = (*plan)->launch({dims, tensors, {}, workspace.get(), nullptr});
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(PlanTest, RefusesALaunchThatNeedsMoreWorkspaceThanReserved) {
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  Builder builder = fake_builder();
  const Result<std::unique_ptr<Plan>> plan =
      Plan::make(modules_, builder, binding, {{1, 4}, {1, 1024}}, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  alignas(256) static std::array<unsigned char, 1 << 16> workspace;
  const std::array<void*, 2> tensors = {workspace.data(), workspace.data()};
  const std::array<std::int64_t, 2> dims = {1000, 1024};
  const Status status = (*plan)->launch({dims, tensors, {}, workspace.data(), nullptr});
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("needs more workspace than the ranges of the plan"));
  const std::array<std::int64_t, 2> refused = {13, 1024};
  EXPECT_THAT((*plan)->launch({refused, tensors, {}, workspace.data(), nullptr}).message(),
              HasSubstr("batch != 13"));
}

TEST_F(PlanTest, EightThreadsLaunchOnePlan) {
  const auto plan =
      made({entry("16", "row THREADS=64 VEC=4"), entry("4096", "row THREADS=256 VEC=4")});
  device_.on_launch = nullptr;
  std::atomic<int> failures = 0;
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      const std::array<void*, 3> tensors = {memory_.data(), memory_.data(), nullptr};
      const std::array<ScalarValue, 1> scalars{};
      for (int i = 0; i < 5000; ++i) {
        const std::array<std::int64_t, 2> dims = {1 + static_cast<std::int64_t>(random() % 8192),
                                                  random() % 2 != 0 ? -1 : 65};
        if (!plan->launch({dims, tensors, scalars, nullptr, nullptr}).ok()) ++failures;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(device_.launches, 8 * 5000);
}

}  // namespace
}  // namespace mgtune
