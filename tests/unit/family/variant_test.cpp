#include "family/variant.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

const Operator& backward() {
  static const Operator op = golden_operator("rmsnorm.backward");
  return op;
}

Binding bind(const Operator& op, const std::map<std::string, std::string>& words) {
  Result<Binding> binding = bind_static(op, words);
  EXPECT_TRUE(binding.ok()) << binding.status().message();
  return std::move(binding).value();
}

constexpr const char* kPartials =
    "partials THREADS_PER_ROW=128 ROWS_PER_BLOCK=2 VEC=8 STAGES=2 BLOCKS_PER_SM=2 CLUSTER=1 "
    "LOAD=cp_async RELOAD=false REDUCE_ROWS=8 PDL=true";

TEST(VariantTest, TextAndItsInverse) {
  const Result<Variant> variant = parse_variant(backward(), kPartials);
  ASSERT_TRUE(variant.ok()) << variant.status().message();
  EXPECT_EQ(variant->design, 0);
  EXPECT_EQ(variant->values.size(), 10U);
  EXPECT_EQ(variant->values[0], 128);
  EXPECT_EQ(variant->values[9], 1);
  EXPECT_EQ(variant_text(backward(), *variant), kPartials);
  const Binding binding = bind(backward(), {{"hidden", "4096"}, {"T", "bf16"}, {"W", "f32"}});
  for (const Variant& step : default_ladder(binding, kH200)) {
    EXPECT_EQ(*parse_variant(backward(), variant_text(backward(), step)), step);
  }
}

TEST(VariantTest, ParseRefusesWhatTheOperatorDoesNotOffer) {
  const auto error = [](const std::string& text) {
    return parse_variant(backward(), text).status().message();
  };
  EXPECT_EQ(error("partial VEC=1"),
            "rmsnorm.backward has no design 'partial'; did you mean 'partials'?");
  EXPECT_EQ(error(""), "rmsnorm.backward has no design ''");
  EXPECT_EQ(error("last_block THREADS_PER_ROW=64 VEC=3 BLOCKS_PER_SM=1"),
            "VEC: '3' is not one of 1, 2, 4, 8");
  EXPECT_EQ(error("last_block THREADS_PER_ROW=64 VEC=2"),
            "'last_block' needs a value for each of THREADS_PER_ROW VEC BLOCKS_PER_SM");
  EXPECT_EQ(error("last_block THREADS_PER_ROW=64 VEC=2 BLOCK_PER_SM=1"),
            "'BLOCK_PER_SM' is not a parameter of 'last_block'; did you mean 'BLOCKS_PER_SM'?");
  EXPECT_EQ(error("last_block VEC"), "'VEC' is not of the form name=value");
}

TEST(VariantTest, KernelNamesAreCpp) {
  const Binding binding = bind(backward(), {{"hidden", "4096"}, {"T", "bf16"}, {"W", "f32"}});
  const Result<Variant> variant = parse_variant(backward(), kPartials);
  const Result<Slots> slots = compile_slots(binding, *variant, kH200);
  ASSERT_TRUE(slots.ok()) << slots.status().message();
  EXPECT_EQ(*kernel_names(backward(), *variant, *slots),
            (std::vector<std::string>{
                "rmsnorm_backward<__nv_bfloat16, float, 4096, 128, 2, 8, 2, 1, LOAD::cp_async, "
                "false>",
                "rmsnorm_backward_dw<float, 4096, 8>"}));
}

TEST(VariantTest, LetsAreEvaluatedStageByStage) {
  const Binding binding = bind(backward(), {{"hidden", "4096"}, {"T", "bf16"}, {"W", "f32"}});
  const Result<Variant> variant = parse_variant(backward(), kPartials);
  Slots slots = *compile_slots(binding, *variant, kH200);
  const Design& design = backward().designs[0];
  const auto value = [&](const char* name) {
    return slots[static_cast<std::size_t>(design.scope.find(name)->slot)];
  };
  EXPECT_EQ(value("device.sm_count"), 132);
  EXPECT_EQ(value("threads"), 256);
  EXPECT_EQ(value("shared"), 2 * 2 * 2 * 4096 * 2 + 4 * 32 * 2);
  EXPECT_EQ(value("resident"), 0);

  slots[kSlotBuildBlocksPerSm] = 3;
  ASSERT_TRUE(evaluate_lets(design, Stage::load, slots).ok());
  EXPECT_EQ(value("resident"), 264);
  EXPECT_EQ(value("groups"), 0);

  slots[static_cast<std::size_t>(design.scope.find("rows")->slot)] = 101;
  ASSERT_TRUE(evaluate_lets(design, Stage::launch, slots).ok());
  EXPECT_EQ(value("groups"), 51);
  EXPECT_EQ(value("blocks"), 51);
}

TEST(VariantTest, AdmissibleWhereRequirementsAndConstraintsHold) {
  const auto admissible = [](const std::string& changed_from, const std::string& to,
                             const DeviceLimits& device, const char* hidden = "4096") {
    const Variant variant = *parse_variant(backward(), replaced(kPartials, changed_from, to));
    const Binding binding = bind(backward(), {{"hidden", hidden}, {"T", "bf16"}, {"W", "f32"}});
    return is_admissible(backward(), variant, *compile_slots(binding, variant, device));
  };
  EXPECT_TRUE(admissible("PDL=true", "PDL=true", kH200));
  EXPECT_FALSE(admissible("PDL=true", "PDL=true", kL4));  // requires cc 90
  EXPECT_TRUE(admissible("PDL=true", "PDL=false", kL4));
  EXPECT_FALSE(admissible("PDL=true", "PDL=false", kT4));  // LOAD=cp_async requires cc 80
  EXPECT_FALSE(admissible("STAGES=2", "STAGES=4", kL4));   // shared memory
  EXPECT_FALSE(admissible("PDL=true", "PDL=false", kH200, "4100"));
}

TEST(VariantTest, ServesWhereConstraintsOfTheLaunchHold) {
  const Binding binding = bind(backward(), {{"hidden", "4096"}, {"T", "bf16"}, {"W", "f32"}});
  const Variant variant = *parse_variant(backward(), kPartials);
  Slots slots = *compile_slots(binding, variant, kH200);
  const auto dim = [&slots](const char* name) -> std::int64_t& {
    return slots[static_cast<std::size_t>(backward().scope.find(name)->slot)];
  };
  slots[kSlotBuildBlocksPerSm] = 3;
  dim("rows") = 101;
  dim("x_stride") = 4096;
  EXPECT_TRUE(serves(backward(), variant, slots));
  dim("x_stride") = 4097;
  EXPECT_FALSE(serves(backward(), variant, slots));
}

TEST(VariantTest, AFailingLetMakesTheVariantInadmissible) {
  const std::string lets =
      R"j("let": { "a": "hidden / (VEC - 1)", "b": "100 / (rows - 5)" }, "source": )j";
  const Operator op = *decode_text("rmsnorm.forward",
                                   replaced(golden_text("rmsnorm.forward"), R"("source": )", lets));
  const Binding binding = bind(op, {{"hidden", "64"}, {"T", "f32"}});
  const Variant one = *parse_variant(op, "row THREADS_PER_ROW=8 ROWS_PER_BLOCK=1 VEC=1");
  EXPECT_EQ(compile_slots(binding, one, kH200).status().message(),
            "a: division by zero\n"
            "  hidden / (VEC - 1)\n"
            "         ^");
  const Variant two = *parse_variant(op, "row THREADS_PER_ROW=8 ROWS_PER_BLOCK=1 VEC=2");
  Slots slots = *compile_slots(binding, two, kH200);
  slots[static_cast<std::size_t>(op.scope.find("rows")->slot)] = 5;
  EXPECT_TRUE(is_admissible(op, two, slots));
  EXPECT_FALSE(serves(op, two, slots));
}

TEST(VariantTest, LadderHasTheDefaultsOfAllDesignsInOrder) {
  const Operator op = golden_operator("swiglu.gate_up");
  const Binding binding = bind(op, {{"K", "4096"}, {"H", "4096"}, {"T", "bf16"}});
  std::vector<std::string> ladder;
  for (const Variant& variant : default_ladder(binding, kH200)) {
    ladder.push_back(variant_text(op, variant));
  }
  EXPECT_EQ(ladder, (std::vector<std::string>{
                        "wgmma BM=128 BN=128 STAGES=4 CLUSTER=1 RASTER=along_m GROUP=8 ACT=exp",
                        "mma_sync BM=64 BN=64 BK=32 WARPS=4 STAGES=2 GROUP=4",
                        "small_m ROWS=16 WARPS=4 STAGES=4 COLS=16"}));
  const Binding other = bind(backward(), {{"hidden", "4096"}, {"T", "bf16"}, {"W", "f32"}});
  EXPECT_EQ(default_ladder(other, kH200).size(), 2U);
}

TEST(VariantTest, DefaultsThatAreNotMeantForTheBindingComeLast) {
  const char* const rungs =
      R"({ "when": "hidden * sizeof(T) >= 8192 && device.sm_count > 100", "THREADS_PER_ROW": 256,
           "ROWS_PER_BLOCK": 1, "VEC": 8 },
         { "when": "VEC * 100 / (hidden - 64) > 0", "THREADS_PER_ROW": 64, "ROWS_PER_BLOCK": 1, "VEC": 8 },
         { "THREADS_PER_ROW": 128, "ROWS_PER_BLOCK": 1, "VEC": 8 })";
  const Operator op =
      *decode_text("rmsnorm.forward",
                   replaced(golden_text("rmsnorm.forward"),
                            R"({ "THREADS_PER_ROW": 128, "ROWS_PER_BLOCK": 1, "VEC": 8 })", rungs));
  const auto threads = [&op](const char* hidden, const DeviceLimits& device) {
    std::vector<std::int64_t> found;
    for (const Variant& variant :
         default_ladder(bind(op, {{"hidden", hidden}, {"T", "bf16"}}), device)) {
      found.push_back(variant.values[0]);
    }
    return found;
  };
  using Threads = std::vector<std::int64_t>;
  EXPECT_EQ(threads("4096", kH200), (Threads{256, 128, 32, 64}));
  EXPECT_EQ(threads("80", kH200), (Threads{64, 128, 32, 256}));
  EXPECT_EQ(threads("64", kH200), (Threads{128, 32, 256, 64}));  // a division by zero holds nowhere
  DeviceLimits small = kH200;
  small.sm_count = 40;
  EXPECT_EQ(threads("4096", small), (Threads{128, 32, 256, 64}));
}

}  // namespace
}  // namespace mgtune
