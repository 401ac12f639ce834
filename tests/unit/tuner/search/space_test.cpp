#include "space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "space/sampler.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/plain_space_counts.h"
#include "tests/helpers/replaced.h"

namespace mgtune {
namespace {

using Words = std::map<std::string, std::string>;

Problem bound_problem(const Operator& op, const Words& words) {
  Result<Problem> problem = bind_problem(op, words);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return std::move(problem).value();
}

const Words kSwiglu = {{"M", "64"}, {"K", "4096"}, {"H", "14336"}, {"T", "bf16"}};
const Words kBackward = {{"rows", "4096"}, {"hidden", "4096"}, {"T", "bf16"}, {"W", "bf16"}};
const Words kPrefill = {{"batch", "2"},    {"seq_q", "4096"},   {"seq_k", "4096"}, {"heads", "32"},
                        {"kv_heads", "8"}, {"head_dim", "128"}, {"T", "bf16"}};
const Words kDecode = {{"batch", "8"},    {"q_len", "1"},      {"kv_len", "4096"},
                       {"heads", "32"},   {"kv_heads", "8"},   {"head_dim", "128"},
                       {"pages", "4096"}, {"page_size", "64"}, {"T", "bf16"}};

std::vector<std::uint64_t> admissible(const Space& space) {
  std::vector<std::uint64_t> counts;
  for (const DesignStatistics& statistics : space.statistics()) {
    counts.push_back(statistics.admissible);
  }
  return counts;
}

using Counts = std::vector<std::uint64_t>;

TEST(SpaceTest, SizesOfTheProducts) {
  const auto size = [](const char* name, const Words& words) {
    const Operator op = golden_operator(name);
    return Space(bound_problem(op, words), kH200).size();
  };
  EXPECT_EQ(size("attention.prefill", kPrefill), 1105920U + 9072U);
  EXPECT_EQ(size("attention.decode", kDecode), 36288U);
  EXPECT_EQ(size("rmsnorm.backward", kBackward), 460800U + 36U);
  EXPECT_EQ(size("swiglu.gate_up", kSwiglu), 1152U + 324U + 72U);
  EXPECT_EQ(size("rmsnorm.forward", {{"rows", "1"}, {"hidden", "64"}, {"T", "f32"}}), 112U);
}

TEST(SpaceTest, SwigluAgreesWithPlainLoops) {
  const Operator op = golden_operator("swiglu.gate_up");
  const auto expect = [&op](std::int64_t m, const DeviceLimits& device, const Counts& golden) {
    Words words = kSwiglu;
    words["M"] = std::to_string(m);
    EXPECT_EQ(admissible(Space(bound_problem(op, words), device)), golden);
    EXPECT_EQ(golden, (Counts{count_gate_up_wgmma(m, device), count_gate_up_mma(device),
                              count_small_m(m, device)}));
  };
  expect(64, kH200, {352, 324, 18});
  expect(512, kH200, {704, 324, 0});
  expect(9, kL4, {0, 282, 54});
  expect(9, kT4, {0, 0, 0});
}

TEST(SpaceTest, RmsnormBackwardAgreesWithPlainLoops) {
  const Operator op = golden_operator("rmsnorm.backward");
  const auto expect = [&op](Words words, std::int64_t hidden, std::int64_t stride,
                            std::int64_t element, const DeviceLimits& device,
                            const Counts& golden) {
    words["hidden"] = std::to_string(hidden);
    words["x_stride"] = std::to_string(stride);
    EXPECT_EQ(admissible(Space(bound_problem(op, words), device)), golden);
    EXPECT_EQ(golden, (Counts{count_partials(hidden, stride, element, device),
                              count_last_block(hidden, element)}));
  };
  expect(kBackward, 4096, 4096, 2, kH200, {270080, 36});
  expect(kBackward, 4096, 4098, 2, kH200, {154240, 36});
  Words f32 = kBackward;
  f32["T"] = f32["W"] = "f32";
  expect(f32, 4100, 4100, 4, kL4, {11400, 27});
}

TEST(SpaceTest, AttentionAgreesWithPlainLoops) {
  const Operator op = golden_operator("attention.prefill");
  const auto expect = [&op](const char* seq_q, bool causal, const DeviceLimits& device,
                            const Counts& golden) {
    Words words = kPrefill;
    words["seq_q"] = seq_q;
    words["causal"] = causal ? "true" : "false";
    EXPECT_EQ(admissible(Space(bound_problem(op, words), device)), golden);
    EXPECT_EQ(golden, (Counts{count_prefill_wgmma(std::stoll(seq_q), causal, device),
                              count_prefill_mma(causal, device)}));
  };
  expect("4096", false, kH200, {135264, 2268});
  expect("4096", true, kH200, {67632, 4536});
  expect("4000", false, kH200, {107328, 2268});
  expect("4096", false, kL4, {0, 1404});

  const Operator decode = golden_operator("attention.decode");
  EXPECT_EQ(admissible(Space(bound_problem(decode, kDecode), kH200)), Counts{20160});
  EXPECT_EQ(count_decode(kH200), 20160U);
  EXPECT_EQ(admissible(Space(bound_problem(decode, kDecode), kL4)), Counts{count_decode(kL4)});
}

TEST(SpaceTest, ConstraintsOfDynamicDimsWaitForAProblem) {
  const Operator op = golden_operator("swiglu.gate_up");
  const Problem problem = bound_problem(op, kSwiglu);
  EXPECT_EQ(admissible(Space(problem.binding(), kH200)), (Counts{704, 324, 72}));
  EXPECT_EQ(admissible(Space(problem, kH200)), (Counts{352, 324, 18}));
}

TEST(SpaceTest, OrderIsThatOfTheFileAndTheLastParameterRunsFastest) {
  const Operator op = golden_operator("rmsnorm.backward");
  const Space space(bound_problem(op, kBackward), kH200);
  std::vector<std::string> last;
  std::uint64_t previous = 0;
  space.for_each([&](const Variant& variant) {
    const std::uint64_t index = space.index(variant);
    EXPECT_TRUE(last.empty() || index > previous);
    previous = index;
    if (variant.design == 1) last.push_back(variant_text(op, variant));
    return last.size() < 4;
  });
  EXPECT_EQ(last,
            (std::vector<std::string>{"last_block THREADS_PER_ROW=64 VEC=1 BLOCKS_PER_SM=1",
                                      "last_block THREADS_PER_ROW=64 VEC=1 BLOCKS_PER_SM=2",
                                      "last_block THREADS_PER_ROW=64 VEC=1 BLOCKS_PER_SM=4",
                                      "last_block THREADS_PER_ROW=64 VEC=2 BLOCKS_PER_SM=1"}));
}

TEST(SpaceTest, PointsAndIndicesAreInverse) {
  const Operator op = golden_operator("swiglu.gate_up");
  const Space space(bound_problem(op, kSwiglu), kH200);
  std::vector<Variant> admitted;
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const Variant variant = space.point(index);
    EXPECT_EQ(space.index(variant), index);
    if (space.admits(variant)) admitted.push_back(variant);
  }
  EXPECT_EQ(admitted, all_variants(space));
  EXPECT_EQ(count_variants(space), admitted.size());
}

TEST(SpaceTest, AdmitsWhatVariantsSayOfThemselves) {
  const Operator op = golden_operator("attention.prefill");
  const Problem problem = bound_problem(op, kPrefill);
  const Space space(problem.binding(), kH200);
  for (std::uint64_t index = 0; index < space.size(); index += 997) {
    const Variant variant = space.point(index);
    const Result<Slots> slots = compile_slots(problem.binding(), variant, kH200);
    ASSERT_TRUE(slots.ok());
    EXPECT_EQ(space.admits(variant), is_admissible(op, variant, *slots));
  }
}

TEST(SpaceTest, StatisticsAccountForEveryPoint) {
  const Operator op = golden_operator("swiglu.gate_up");
  const std::vector<DesignStatistics> statistics =
      Space(bound_problem(op, kSwiglu), kH200).statistics();
  ASSERT_EQ(statistics.size(), 3U);
  for (const DesignStatistics& design : statistics) {
    std::uint64_t sum = design.admissible;
    for (const auto& [constraint, points] : design.pruned) sum += points;
    EXPECT_EQ(sum, design.points) << design.design;
    EXPECT_EQ(design.unavailable, "");
  }
  EXPECT_EQ(statistics[0].pruned, (std::map<std::string, std::uint64_t>{
                                      {"BM / 64 * 2 * BN <= 512", 256},
                                      {"CLUSTER == 1 || ceil_div(M, BM) % CLUSTER == 0", 352},
                                      {"shared <= device.max_shared", 192}}));
  EXPECT_EQ(statistics[2].pruned, (std::map<std::string, std::uint64_t>{{"M <= ROWS", 54}}));
}

TEST(SpaceTest, DesignsWithoutADeviceSayWhatTheyRequire) {
  const Operator op = golden_operator("swiglu.gate_up");
  const std::vector<DesignStatistics> statistics =
      Space(bound_problem(op, kSwiglu), kL4).statistics();
  EXPECT_EQ(statistics[0].unavailable, "requires device.cc == 90");
  EXPECT_EQ(statistics[0].pruned.at("requires device.cc == 90"), 1152U);
  EXPECT_EQ(statistics[1].unavailable, "");
  // Requirements that only some parameters bring leave the design available.
  const Operator backward = golden_operator("rmsnorm.backward");
  EXPECT_EQ(Space(bound_problem(backward, kBackward), kT4).statistics()[0].unavailable, "");
}

TEST(SpaceTest, AFailingExpressionPrunesItsPoints) {
  const std::string lets = R"j("let": { "a": "hidden / (VEC - 1)" }, "source": )j";
  const Operator op = *decode_text("rmsnorm.forward",
                                   replaced(golden_text("rmsnorm.forward"), R"("source": )", lets));
  const Space space(bound_problem(op, {{"rows", "1"}, {"hidden", "64"}, {"T", "f32"}}), kH200);
  const DesignStatistics statistics = space.statistics()[0];
  EXPECT_EQ(statistics.pruned.at("a = hidden / (VEC - 1)"),
            25U);  // 28 less those over 1024 threads
  for (const Variant& variant : all_variants(space)) EXPECT_NE(variant.values[2], 1);
}

TEST(SamplerTest, DrawsEveryAdmissibleVariantOnce) {
  const Operator op = golden_operator("swiglu.gate_up");
  const Space space(bound_problem(op, kSwiglu), kH200);
  Sampler sampler(space, 7);
  std::set<std::uint64_t> drawn;
  while (const auto variant = sampler.next()) {
    EXPECT_TRUE(space.admits(*variant));
    EXPECT_TRUE(drawn.insert(space.index(*variant)).second);
  }
  EXPECT_EQ(drawn.size(), count_variants(space));
  EXPECT_EQ(sampler.next(), std::nullopt);
}

TEST(SamplerTest, TheSeedDecidesTheOrder) {
  const Operator op = golden_operator("attention.prefill");
  const Space space(bound_problem(op, kPrefill), kH200);
  const auto first = [&space](std::uint64_t seed) {
    Sampler sampler(space, seed);
    std::vector<std::uint64_t> indices;
    for (int i = 0; i < 100; ++i) indices.push_back(space.index(*sampler.next()));
    return indices;
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

TEST(SamplerTest, FindsTheFewOfALargeSpace) {
  Operator op = golden_operator("attention.prefill");
  const std::string text =
      replaced(golden_text("attention.prefill"), R"("head_dim % 64 == 0")",
               R"("WG == 3 && BN == 64 && STAGES == 1 && REG_CONS == 160 && REG_PROD == 24")");
  op = *decode_text("attention.prefill", replaced(text, R"("BM >= 16 * WARPS")", R"("BM > 128")"));
  const Space space(bound_problem(op, kPrefill), kH200);
  Sampler sampler(space, 1);
  std::uint64_t drawn = 0;
  while (sampler.next()) ++drawn;
  EXPECT_EQ(drawn, count_variants(space));
  EXPECT_GT(drawn, 0U);
  EXPECT_LT(drawn, 200U);
}

TEST(SamplerTest, FirstDrawsAreUniform) {
  const Operator op = golden_operator("rmsnorm.forward");
  const Space space(bound_problem(op, {{"rows", "1"}, {"hidden", "64"}, {"T", "f32"}}), kH200);
  const std::vector<Variant> all = all_variants(space);
  std::map<std::uint64_t, int> hits;
  constexpr int kDraws = 20000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    ++hits[space.index(*Sampler(space, seed).next())];
  }
  EXPECT_EQ(hits.size(), all.size());
  const double expected = double(kDraws) / double(all.size());
  double chi_square = 0;
  for (const auto& [index, count] : hits) {
    chi_square += (count - expected) * (count - expected) / expected;
  }
  // 74 degrees of freedom: mean 74, deviation 12.
  EXPECT_LT(chi_square, 74 + 5 * 12);
}

TEST(SamplerTest, AnEmptySpaceGivesNothing) {
  const Operator op = golden_operator("attention.prefill");
  const Space space(bound_problem(op, kPrefill), kT4);
  EXPECT_EQ(count_variants(space), 0U);
  EXPECT_EQ(Sampler(space, 1).next(), std::nullopt);
}

// The ladder begins with the least estimate, and estimates above 1.25 times it are left out.
TEST(SpaceTest, EstimatesOrderTheLadderAndBoundTheSpace) {
  const Operator op = decode_toy(
      "toy.norm",
      replaced(kToyNorm, "\"align\"", R"j("let": {"waves": "ceil_div(rows, THREADS * 132)"},
    "estimate": "waves * THREADS",
    "align")j"));
  const auto texts = [&](const char* rows) {
    const Problem problem = bound_problem(op, {{"rows", rows}, {"hidden", "64"}, {"T", "f32"}});
    const Space space(problem, kH200);
    std::vector<std::string> found;
    for (const Variant& variant : space.ladder()) found.push_back(variant_text(op, variant));
    found.emplace_back("space");
    for (const Variant& variant : all_variants(space)) found.push_back(variant_text(op, variant));
    return found;
  };
  using testing::ElementsAre;
  EXPECT_THAT(texts("8"), ElementsAre("row THREADS=32 VEC=1", "space", "row THREADS=32 VEC=1",
                                      "row THREADS=32 VEC=2", "row THREADS=32 VEC=4"));
  // 32: 192, 64: 192, 128: 256, 256: 256, so all but those of 32 and 64 threads are left out.
  EXPECT_THAT(texts("25000"),
              ElementsAre("row THREADS=64 VEC=2", "row THREADS=32 VEC=1", "space",
                          "row THREADS=32 VEC=1", "row THREADS=32 VEC=2", "row THREADS=32 VEC=4",
                          "row THREADS=64 VEC=1", "row THREADS=64 VEC=2", "row THREADS=64 VEC=4"));
  const Problem problem = bound_problem(op, {{"rows", "25000"}, {"hidden", "64"}, {"T", "f32"}});
  const Space unbounded(problem, kH200, nullptr, Space::Bound::ignored);
  EXPECT_EQ(all_variants(unbounded).size(), 12U);
  const Space any_rows(*bind_static(op, {{"hidden", "64"}, {"T", "f32"}}), kH200);
  EXPECT_EQ(any_rows.ladder().size(), 3U) << "without rows there is no estimate";
}

// What an estimate cannot tell leaves nothing out: one that fails, a rung that a narrowing
// excludes, a rung that may refuse when its build is loaded.
TEST(SpaceTest, AnEstimateThatSaysNothingBoundsNothing) {
  const auto count = [](const std::string& estimate, const std::string& constraint,
                        const std::vector<std::string>& conditions) {
    std::string family = replaced(kToyNorm, "hidden % VEC == 0", constraint);
    family = replaced(family, "\"align\"", "\"estimate\": \"" + estimate + "\", \"align\"");
    const Operator op = decode_toy("toy.norm", family);
    const Problem problem = bound_problem(op, {{"rows", "8"}, {"hidden", "64"}, {"T", "f32"}});
    const Space space(problem, kH200,
                      std::make_shared<const Narrowing>(*parse_narrowing(op, conditions)));
    return all_variants(space).size();
  };
  EXPECT_EQ(count("THREADS", "true", {}), 3U) << "those of 32 threads";
  EXPECT_EQ(count("THREADS - 256", "true", {}), 6U) << "-224 and -192";
  EXPECT_EQ(count("THREADS + 1 / (THREADS - 64)", "true", {}), 6U) << "32 and 64 threads";
  EXPECT_EQ(count("THREADS", "true", {"THREADS > 64"}), 3U) << "128 threads";
  EXPECT_EQ(count("THREADS", "true", {"THREADS == 256"}), 3U) << "there is no rung";
  EXPECT_EQ(count("THREADS", "THREADS > 32 || build.max_clusters > 1", {}), 6U);
}

}  // namespace
}  // namespace mgtune
