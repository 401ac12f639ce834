#include "launch/loaded_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct SeenLaunch {
  std::string kernel;
  std::array<std::uint32_t, 3> grid;
  std::uint32_t shared_bytes;
  bool cooperative;
  bool pdl;
  Stream stream;
};

class LoadedVariantTest : public testing::Test {
 protected:
  LoadedVariantTest() {
    declare_toy_kernels(device_);
    device_.on_launch = [this](const KernelLaunch& launch) -> Status {
      seen_.push_back({launch.kernel->name(), launch.grid, launch.shared_bytes, launch.cooperative,
                       launch.pdl, launch.stream});
      return {};
    };
  }

  Result<std::unique_ptr<LoadedVariant>> load(const Operator& op, const Binding& binding,
                                              const std::string& text) {
    const Variant variant = variant_of(op, text);
    Result<Slots> slots = compile_slots(binding, variant, device_.info().limits);
    EXPECT_TRUE(slots.ok()) << slots.status().message();
    Result<BuildRequest> request = variant_build_request(op, variant, *slots, "sm_90");
    EXPECT_TRUE(request.ok()) << request.status().message();
    Builder builder = fake_builder();
    Result<Build> build = builder.build(*request);
    EXPECT_TRUE(build.ok()) << build.status().message();
    return LoadedVariant::load(device_, binding, variant, *build);
  }

  std::unique_ptr<LoadedVariant> loaded(const Operator& op, const Binding& binding,
                                        const std::string& text) {
    Result<std::unique_ptr<LoadedVariant>> variant = load(op, binding, text);
    EXPECT_TRUE(variant.ok()) << variant.status().message();
    return std::move(variant).value();
  }

  FakeDevice device_;
  std::vector<SeenLaunch> seen_;
  const Operator norm_ = toy_norm();
  const Operator split_ = toy_split();
  const Binding norm_binding_ = bound(norm_, {{"hidden", "64"}, {"T", "f32"}});
  const Binding split_binding_ = bound(split_, {{"width", "64"}, {"T", "f32"}});
  alignas(256) std::array<unsigned char, 1 << 18> memory_{};
};

TEST_F(LoadedVariantTest, KnowsWhatItIs) {
  const auto variant = loaded(norm_, norm_binding_, "row THREADS=128 VEC=4");
  EXPECT_EQ(variant->text(), "row THREADS=128 VEC=4");
  EXPECT_EQ(variant->build_sha256().size(), 64U);
  EXPECT_EQ(variant->variant(), variant_of(norm_, "row THREADS=128 VEC=4"));
}

TEST_F(LoadedVariantTest, LaunchesTheKernelOfItsBinding) {
  const auto variant = loaded(norm_, norm_binding_, "row THREADS=128 VEC=4");
  const std::array<std::int64_t, 2> dims = {5, 64};
  const std::array<void*, 3> tensors = {memory_.data(), memory_.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  int stream = 0;
  ASSERT_TRUE(variant->launch({dims, tensors, scalars, nullptr, &stream}).ok());
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].kernel, "norm<float, 64, 128, 4, false>");
  EXPECT_EQ(seen_[0].grid[0], 5U);
  EXPECT_EQ(seen_[0].stream, &stream);
}

TEST_F(LoadedVariantTest, RunsNothingForNoRows) {
  const auto variant = loaded(norm_, norm_binding_, "row THREADS=128 VEC=4");
  const std::array<std::int64_t, 2> dims = {0, -1};
  const std::array<void*, 3> tensors{};
  const std::array<ScalarValue, 1> scalars{};
  const Status status = variant->launch({dims, tensors, scalars, nullptr, nullptr});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(seen_.empty());
}

TEST_F(LoadedVariantTest, RefusesWhatItDoesNotServe) {
  const auto variant = loaded(norm_, norm_binding_, "row THREADS=128 VEC=4");
  const std::array<std::int64_t, 2> dims = {5, 65};
  const std::array<void*, 3> tensors = {memory_.data(), memory_.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  const LaunchArguments arguments{dims, tensors, scalars, nullptr, nullptr};
  EXPECT_FALSE(variant->serves(arguments));
  const Status status = variant->launch(arguments);
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(status.message(),
            "row THREADS=128 VEC=4: the constraint x_stride % VEC == 0 does not hold");
  EXPECT_TRUE(seen_.empty());
}

TEST_F(LoadedVariantTest, ComparesParameterSizesOnLoading) {
  device_.parameters["norm"] = {8, 8, 8, 4, 4, 4};
  Result<std::unique_ptr<LoadedVariant>> variant =
      load(norm_, norm_binding_, "row THREADS=128 VEC=4");
  ASSERT_FALSE(variant.ok());
  EXPECT_EQ(variant.status().code(), StatusCode::launch_failed);
  EXPECT_THAT(variant.status().message(),
              AllOf(HasSubstr("parameter 3 of norm<float, 64, 128, 4, false> has 4 bytes, but `"),
                    HasSubstr("` has 8 ("), HasSubstr(": /designs/row/launches/0/args/3)")));
  device_.parameters["norm"] = {8, 8};
  EXPECT_THAT(load(norm_, norm_binding_, "row THREADS=128 VEC=4").status().message(),
              HasSubstr("takes 2 parameters, but its launch declares 6 args"));
}

TEST_F(LoadedVariantTest, AsksTheDeviceAboutTheBuild) {
  device_.resident_blocks = 1;
  const auto few = loaded(split_, split_binding_, "split THREADS=64 WAVES=1");
  device_.resident_blocks = 8;
  const auto many = loaded(split_, split_binding_, "split THREADS=64 WAVES=2");
  const std::array<std::int64_t, 2> dims = {4, 1 << 20};
  const std::array<void*, 2> tensors = {memory_.data(), memory_.data()};
  ASSERT_TRUE(few->launch({dims, tensors, {}, memory_.data(), nullptr}).ok());
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(seen_[0].grid, (std::array<std::uint32_t, 3>{132 / 4, 4, 1}));
  EXPECT_EQ(seen_[0].shared_bytes, 512U);
  EXPECT_EQ(seen_[1].kernel, "combine<float, 64>");
  EXPECT_FALSE(seen_[1].pdl);
  const Result<LoadedVariant::WorkspaceSize> size = many->workspace_size(dims);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size->bytes, 256 + 256 + 132 * 8 * 2 / 4 * 4 * 64 * 4);
}

// In each place of a launch that may be evaluated after loading, a fact about the build is asked of
// the device, even if nothing else in the design uses it.
TEST_F(LoadedVariantTest, AsksTheDeviceForEveryExpressionThatUsesTheBuild) {
  device_.resident_blocks = 2;
  const std::string kernel = R"("grid": ["rows"],
                  "block": ["THREADS"],)";
  const std::array<std::pair<std::string, std::string>, 5> places = {{
      {kernel, kernel + R"("cooperative": "build.blocks_per_sm == 2",)"},
      {kernel, kernel + R"("pdl": "build.blocks_per_sm == 2",)"},
      {R"("grid": ["rows"])", R"("grid": ["rows * build.blocks_per_sm"])"},
      {R"("rows:i64")", R"("build.blocks_per_sm:i64")"},
      {R"("grid": ["rows"])", R"("when": "build.blocks_per_sm == 2", "grid": ["rows"])"},
  }};
  const std::array<std::int64_t, 2> dims = {5, 64};
  const std::array<void*, 3> tensors = {memory_.data(), memory_.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  for (const auto& [before, after] : places) {
    SCOPED_TRACE(after);
    const Operator op = decode_toy("toy.norm", replaced(kToyNorm, before, after));
    device_.blocks_questions = 0;
    const auto variant =
        loaded(op, bound(op, {{"hidden", "64"}, {"T", "f32"}}), "row THREADS=128 VEC=4");
    EXPECT_EQ(device_.blocks_questions, 1);
    seen_.clear();
    ASSERT_TRUE(variant->launch({dims, tensors, scalars, nullptr, nullptr}).ok());
    ASSERT_EQ(seen_.size(), 1U);
    EXPECT_EQ(seen_[0].cooperative, after.find("cooperative") != std::string::npos);
    EXPECT_EQ(seen_[0].pdl, after.find("pdl") != std::string::npos);
  }
}

// The first kernel's geometry is possible and the second one's is not. Nothing may be enqueued,
// because the second kernel cleans up what the first leaves in the workspace.
TEST_F(LoadedVariantTest, EnqueuesNothingIfALaterKernelIsImpossible) {
  const Operator op =
      decode_toy("toy.split", replaced(kToySplit, R"("grid": ["batch"], "block": ["64"])",
                                       R"("grid": ["1", "batch * 65535"], "block": ["64"])"));
  int fills = 0;
  device_.on_fill = [&](void*, std::size_t) { ++fills; };
  const auto variant =
      loaded(op, bound(op, {{"width", "64"}, {"T", "f32"}}), "split THREADS=64 WAVES=1");
  const std::array<std::int64_t, 2> dims = {2, 1024};
  const std::array<void*, 2> tensors = {memory_.data(), memory_.data()};
  const LaunchArguments arguments{dims, tensors, {}, memory_.data(), nullptr};
  EXPECT_FALSE(variant->serves(arguments));
  EXPECT_FALSE(variant->serves({dims, {}, {}, nullptr, nullptr})) << "the dims alone say so";
  const Result<bool> launched = variant->try_launch(arguments, std::nullopt);
  ASSERT_TRUE(launched.ok()) << launched.status().message();
  EXPECT_FALSE(*launched) << "another variant may serve";
  EXPECT_THAT(variant->launch(arguments).message(),
              HasSubstr("kernel combine asks for a grid of 1 x 131070 x 1 blocks"));
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(fills, 0);
}

// The device itself refuses the second kernel after the first one ran.
TEST_F(LoadedVariantTest, ZeroesTheWorkspaceAgainIfALaterKernelIsRefused) {
  std::vector<std::pair<void*, std::size_t>> fills;
  device_.on_launch = [&](const KernelLaunch& launch) -> Status {
    if (launch.kernel->name().starts_with("split")) {
      fills.clear();
      return {};
    }
    return {StatusCode::launch_failed, "no room"};
  };
  device_.on_fill = [&](void* memory, std::size_t bytes) { fills.emplace_back(memory, bytes); };
  const auto variant = loaded(split_, split_binding_, "split THREADS=64 WAVES=1");
  const std::array<std::int64_t, 2> dims = {4, 1 << 20};
  const std::array<void*, 2> tensors = {memory_.data(), memory_.data()};
  const Status status = variant->launch({dims, tensors, {}, memory_.data(), nullptr});
  EXPECT_EQ(status.message(), "no room");
  EXPECT_THAT(fills, ElementsAre(std::pair<void*, std::size_t>(memory_.data(), 256)));
}

TEST_F(LoadedVariantTest, NeedsItsWorkspace) {
  const auto variant = loaded(split_, split_binding_, "split THREADS=64 WAVES=1");
  const std::array<std::int64_t, 2> dims = {4, 64};
  const std::array<void*, 2> tensors = {memory_.data(), memory_.data()};
  Status status = variant->launch({dims, tensors, {}, nullptr, nullptr});
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("needs a workspace of 2560 bytes, aligned to 256"));
  status = variant->launch({dims, tensors, {}, memory_.data() + 128, nullptr});
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(LoadedVariantTest, ZeroesWhatEachLaunchNeedsZeroed) {
  std::vector<std::pair<void*, std::size_t>> fills;
  device_.on_fill = [&](void* memory, std::size_t bytes) { fills.emplace_back(memory, bytes); };
  const auto variant = loaded(split_, split_binding_, "split THREADS=64 WAVES=1");
  const std::array<std::int64_t, 2> dims = {4, 32};
  const std::array<void*, 2> tensors = {memory_.data(), memory_.data()};
  ASSERT_TRUE(variant->launch({dims, tensors, {}, memory_.data(), nullptr}).ok());
  EXPECT_THAT(fills, ElementsAre(std::pair<void*, std::size_t>(memory_.data() + 256, 256)));
}

TEST_F(LoadedVariantTest, KeepsTheReservedFrontOfASharedWorkspace) {
  void* sums = nullptr;
  device_.on_fill = [&](void* memory, std::size_t) { sums = memory; };
  const auto variant = loaded(split_, split_binding_, "split THREADS=64 WAVES=1");
  const std::array<std::int64_t, 2> dims = {4, 32};
  const std::array<void*, 2> tensors = {memory_.data(), memory_.data()};
  const LaunchArguments arguments{dims, tensors, {}, memory_.data(), nullptr};
  Result<bool> launched = variant->try_launch(arguments, LoadedVariant::WorkspaceSize{8192, 4096});
  ASSERT_TRUE(launched.ok() && *launched);
  EXPECT_EQ(sums, memory_.data() + 4096);
  launched = variant->try_launch(arguments, LoadedVariant::WorkspaceSize{4096 + 128, 4096});
  ASSERT_TRUE(launched.ok());
  EXPECT_FALSE(*launched) << "the rest is too small";
  launched = variant->try_launch(arguments, LoadedVariant::WorkspaceSize{8192, 128});
  ASSERT_TRUE(launched.ok());
  EXPECT_FALSE(*launched) << "the zeroed front is too small";
}

TEST_F(LoadedVariantTest, PassesOnWhatTheDeviceSays) {
  const auto variant = loaded(norm_, norm_binding_, "row THREADS=128 VEC=4");
  device_.on_launch = [](const KernelLaunch&) {
    return Status(StatusCode::launch_failed, "out of bounds in thread 3");
  };
  const std::array<std::int64_t, 2> dims = {5, 64};
  const std::array<void*, 3> tensors = {memory_.data(), memory_.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  const Status status = variant->launch({dims, tensors, scalars, nullptr, nullptr});
  EXPECT_EQ(status.code(), StatusCode::launch_failed);
  EXPECT_EQ(status.message(), "out of bounds in thread 3");
}

TEST(LaunchHash, DependsOnLaunchTextAndVariant) {
  const Operator op = toy_norm();
  const std::string hash = launch_hash(op, variant_of(op, "row THREADS=128 VEC=4"));
  EXPECT_EQ(hash.size(), 64U);
  EXPECT_EQ(hash, launch_hash(toy_norm(), variant_of(op, "row THREADS=128 VEC=4")));
  EXPECT_NE(hash, launch_hash(op, variant_of(op, "row THREADS=128 VEC=2")));
  const Operator other = decode_toy(
      "toy.norm", replaced(kToyNorm, "\"grid\": [\"rows\"]", "\"grid\": [\"rows\", \"1\"]"));
  EXPECT_NE(hash, launch_hash(other, variant_of(other, "row THREADS=128 VEC=4")));
}

}  // namespace
}  // namespace mgtune
