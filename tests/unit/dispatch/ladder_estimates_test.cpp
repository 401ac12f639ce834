// Designs with an estimate: the order of their variants in the ladder, and what a plan runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/plan.h"
#include "launch/loaded_variant.h"
#include "selection/default_variants.h"
#include "selection/variant_selection.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/replaced.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tiles of SIZE rows for 132 SMs. A wave of them takes `SIZE + 10`. Tiles of the design `pair` take
// less, but they come in clusters of two. The design `any` has no estimate.
constexpr char kToyTiles[] = R"json({
  "format": 1,
  "dims": {"m": "dynamic"},
  "dtypes": {"T": ["f32"]},
  "tensors": {"x": {"role": "in", "dtype": "T", "shape": ["m"], "fill": "normal"},
              "y": {"role": "out", "dtype": "T", "shape": ["m"]}},
  "cost": {"bytes": "8 * m", "flops": "m"},
  "check": {"reference": "tiles_reference", "measure": "relative_l2", "tolerance": {"f32": 1e-6}},
  "problems": {"default": [{"m": 8}], "emulation": [{"m": 8}]},
  "designs": {
    "tile": {
      "source": "norm.cu",
      "params": {"SIZE": [1, 16, 64, 256], "FLAG": [false, true]},
      "let": {"waves": "ceil_div(m, SIZE * device.sm_count)"},
      "estimate": "waves * (SIZE + 10)",
      "constraints": ["m >= SIZE"],
      "launches": [{"kernel": "tile<SIZE, FLAG>", "grid": ["1"], "block": ["32"],
                    "args": ["x", "y", "m:i64"]}],
      "defaults": [{"SIZE": 16, "FLAG": false}, {"SIZE": 16, "FLAG": true},
                   {"SIZE": 256, "FLAG": false}, {"SIZE": 64, "FLAG": false}]},
    "pair": {
      "source": "norm.cu",
      "params": {"SIZE": [64]},
      "let": {"tiles": "ceil_div(m, SIZE)"},
      "estimate": "ceil_div(tiles, device.sm_count) * SIZE",
      "constraints": ["tiles <= build.max_clusters", "m >= 1000"],
      "launches": [{"kernel": "pair<SIZE>", "grid": ["2"], "block": ["32"], "cluster": ["2"],
                    "args": ["x", "y", "m:i64"]}],
      "defaults": [{"SIZE": 64}]},
    "any": {
      "source": "norm.cu",
      "params": {},
      "launches": [{"kernel": "any", "grid": ["1"], "block": ["32"], "args": ["x", "y", "m:i64"]}],
      "defaults": [{}]}}
})json";

class LadderEstimatesTest : public testing::Test {
 protected:
  LadderEstimatesTest() {
    for (const char* kernel : {"tile", "pair", "any"}) device_.parameters[kernel] = {8, 8, 8};
    device_.on_launch = [this](const KernelLaunch& launch) -> Status {
      last_ = launch.kernel->name();
      return {};
    };
  }

  Problem problem(std::int64_t m) const {
    return must(bind_problem(op_, {{"m", std::to_string(m)}, {"T", "f32"}}));
  }

  // "tile SIZE=16 FLAG=false: 26" for a variant with an estimate of 26.
  std::vector<std::string> ladder(std::int64_t m) const {
    const Problem here = problem(m);
    const DeviceLimits& limits = device_.device_info.limits;
    std::vector<std::string> lines;
    for (const auto& [variant, estimate] :
         ladder_at(here, default_ladder(here.binding(), limits), limits)) {
      std::string line = variant_text(op_, variant);
      if (estimate != kNoEstimate) line += ": " + std::to_string(estimate);
      lines.push_back(line);
    }
    return lines;
  }

  std::unique_ptr<Plan> plan(std::int64_t low, std::int64_t high) { return plan(op_, low, high); }
  std::unique_ptr<Plan> plan(const Operator& op, std::int64_t low, std::int64_t high) {
    Builder builder = fake_builder("");
    return must(Plan::make(modules_, builder, bound(op, {{"T", "f32"}}), {{low, high}}, {}, false));
  }

  std::string run(const Plan& plan, std::int64_t m) {
    last_.clear();
    const std::array<std::int64_t, 1> dims = {m};
    const std::array<void*, 2> tensors = {memory_.data(), memory_.data()};
    const Status status = plan.launch({dims, tensors, {}, nullptr, nullptr});
    return status.ok() ? last_ : status.message();
  }

  FakeDevice device_;
  SharedModules modules_{device_};
  std::string last_;
  const Operator op_ = decode_toy("toy.tiles", kToyTiles);
  alignas(16) std::array<float, 16> memory_{};
};

TEST_F(LadderEstimatesTest, OrderTheVariantsOfDesignsThatHaveOne) {
  // One wave each: the smallest tile. Equal estimates: the order of the file.
  EXPECT_THAT(ladder(300),
              ElementsAre("tile SIZE=16 FLAG=false: 26", "tile SIZE=16 FLAG=true: 26",
                          "tile SIZE=64 FLAG=false: 74", "tile SIZE=256 FLAG=false: 266", "any"));
  // 8,400 rows are four waves of 16 x 132 rows, and one of larger tiles.
  EXPECT_THAT(
      ladder(8400),
      ElementsAre("pair SIZE=64: 64", "tile SIZE=64 FLAG=false: 74", "tile SIZE=16 FLAG=false: 104",
                  "tile SIZE=16 FLAG=true: 104", "tile SIZE=256 FLAG=false: 266", "any"));
  EXPECT_THAT(ladder(5), ElementsAre("any")) << "all tiles are too large";
}

TEST_F(LadderEstimatesTest, OneThatCannotBeComputedComesLast) {
  const Operator op = decode_toy(
      "toy.tiles",
      replaced(kToyTiles, "ceil_div(tiles, device.sm_count) * SIZE", "8400 / (m - 8400)"));
  const Problem here = must(bind_problem(op, {{"m", "8400"}, {"T", "f32"}}));
  const DeviceLimits& limits = device_.device_info.limits;
  const auto ladder = ladder_at(here, default_ladder(here.binding(), limits), limits);
  ASSERT_EQ(ladder.size(), 6U);
  EXPECT_EQ(variant_text(op, ladder[4].variant), "pair SIZE=64");
  EXPECT_EQ(ladder[4].estimate, kNoEstimate);
}

TEST_F(LadderEstimatesTest, AreNamedInTheReasonOfASelection) {
  const std::vector<SelectedVariant> selected =
      select_variants(problem(300), device_.device_info, {});
  ASSERT_EQ(selected.size(), 5U);
  EXPECT_EQ(selected.front().reason, "a default of the operator, with an estimate of 26");
  EXPECT_EQ(selected.back().reason, "a default of the operator");
}

TEST_F(LadderEstimatesTest, DecideAtEveryLaunchOfAPlan) {
  device_.resident_clusters = 1000;
  const auto wide = plan(64, 30000);
  EXPECT_THAT(wide->variants(),
              testing::UnorderedElementsAre("tile SIZE=16 FLAG=false", "pair SIZE=64"));
  EXPECT_EQ(run(*wide, 300), "tile<16, false>");
  EXPECT_EQ(run(*wide, 8400), "pair<64>");
  EXPECT_EQ(run(*wide, 20000), "pair<64>") << "3 * 64; tiles of 16 take 10 * 26, of 256 266";
  EXPECT_EQ(run(*wide, 300), "tile<16, false>") << "now remembered";
  for (std::int64_t m = 64; m < 2000; ++m) run(*wide, m);  // more shapes than are remembered
  EXPECT_EQ(run(*wide, 8400), "pair<64>");
  const Result<Plan::Explanation> why = wide->explain({300});
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->variant, "tile SIZE=16 FLAG=false");
  EXPECT_EQ(why->step, SelectionStep::default_ladder);
}

// Before a variant is loaded, build.max_clusters is not known.
TEST_F(LadderEstimatesTest, AVariantThatTurnsOutNotToServeGivesItsPlaceToTheNext) {
  device_.resident_clusters = 16;
  const auto exact = plan(8400, 8400);
  EXPECT_THAT(exact->variants(), testing::Not(testing::Contains("pair SIZE=64")));
  EXPECT_EQ(run(*exact, 8400), "tile<64, false>") << "not `any`";
}

// The ends and the middle, 775, want pairs, tiles of 16 and of 64 rows. None serves 100 to 599
// rows.
TEST_F(LadderEstimatesTest, LeaveNoGapBetweenThePointsOfAPlan) {
  device_.resident_clusters = 1000;
  const Operator op = decode_toy(
      "toy.tiles", replaced(kToyTiles, "m >= SIZE",
                            "SIZE == 16 ? m < 100 : SIZE == 64 ? m > 599 && m < 1000 : m < 0"));
  const auto wide = plan(op, 20, 30000);
  EXPECT_THAT(wide->variants(),
              testing::UnorderedElementsAre("pair SIZE=64", "tile SIZE=16 FLAG=false",
                                            "tile SIZE=64 FLAG=false", "any"));
  EXPECT_EQ(run(*wide, 50), "tile<16, false>");
  EXPECT_EQ(run(*wide, 300), "any");
  EXPECT_EQ(run(*wide, 700), "tile<64, false>");
}

// A launch does not evaluate lets that only the estimate reads.
TEST_F(LadderEstimatesTest, DoNotKeepAVariantFromRunningIfTheirLetsFail) {
  device_.resident_clusters = 0;  // so that pairs refuse
  const Operator op = decode_toy(
      "toy.tiles", replaced(kToyTiles, "ceil_div(m, SIZE * device.sm_count)", "m / (m - 8400)"));
  const auto wide = plan(op, 64, 30000);
  ASSERT_THAT(wide->variants(), testing::Not(testing::Contains("any")));
  EXPECT_THAT(run(*wide, 8400), testing::StartsWith("tile<"));
}

TEST_F(LadderEstimatesTest, AreNoPartOfALaunch) {
  const Operator other =
      decode_toy("toy.tiles", replaced(kToyTiles, "waves * (SIZE + 10)", "waves * (SIZE + 11)"));
  EXPECT_EQ(other.designs[0].launch_text, op_.designs[0].launch_text);
}

TEST_F(LadderEstimatesTest, NeedNoBuild) {
  auto sources = std::make_shared<SourceTree>();
  sources->folder = "toy";
  sources->files["norm.cu"] = "// norm";
  sources->files["tiles.json"] = replaced(kToyTiles, "\"tiles\": \"ceil_div(m, SIZE)\"",
                                          "\"tiles\": \"m / build.max_clusters\"");
  const Result<Operator> op = decode_operator("toy", "tiles", std::move(sources));
  EXPECT_THAT(op.status().message(), HasSubstr("/designs/pair/estimate"));
  EXPECT_THAT(op.status().message(), HasSubstr("it needs build.*"));
}

}  // namespace
}  // namespace mgtune
