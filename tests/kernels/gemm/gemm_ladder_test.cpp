// The ladders of the design wgmma of gemm.forward and swiglu.gate_up: by the estimate of the
// operator file, every product has a rung, and those that were measured on an H200 get the rung
// that was the fastest, or within the scatter of it. results/h200/gemm.md has the times.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "family/catalog.h"
#include "selection/admission.h"
#include "system/file_system.h"
#include "tests/helpers/gpu_limits.h"

namespace mgtune {
namespace {

const Operator& product(const std::string& name) {
  static Catalog catalog(FileSystem::real());
  return *catalog.find_operator(name).value();
}

Problem product_problem(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::string words = fmt::format("m={},n={},k={},T=bf16", m, n, k);
  return *bind_problem(product(name), parse_assignments(words).value());
}

// The first rung of wgmma that serves the problem, or "none".
std::string first_tile(const Problem& problem, const DeviceLimits& gpu) {
  for (const Variant& rung : default_ladder(problem.binding(), gpu)) {
    const std::string text = variant_text(*problem.op, rung);
    if (text.starts_with("wgmma ") && may_serve(problem, rung, gpu)) return text;
  }
  return "none";
}

// Whether all constraints hold if so many clusters are resident at once.
bool serves_with_clusters(const Problem& problem, const std::string& text, std::int64_t clusters) {
  const Variant variant = parse_variant(*problem.op, text).value();
  std::optional<Slots> slots = serving_slots(problem, variant, kH200);
  if (!slots) return false;
  (*slots)[kSlotBuildMaxClusters] = clusters;
  const Design& design = problem.op->designs[std::size_t(variant.design)];
  if (!evaluate_lets(design, Stage::launch, *slots).ok()) return false;
  return std::ranges::all_of(design.constraints, [&](const Expression& constraint) {
    const Result<std::int64_t> holds = constraint.evaluate(*slots);
    return holds.ok() && *holds != 0;
  });
}

TEST(GemmLadder, ServesEveryProduct) {
  DeviceLimits slice = kH200;  // a half of the GPU
  slice.sm_count = 60;
  for (const char* name : {"gemm.forward", "swiglu.gate_up"}) {
    for (const DeviceLimits& gpu : {kH200, slice}) {
      for (const std::int64_t m : {1, 64, 65, 130, 192, 193, 512, 1000, 3000, 8192, 40000}) {
        for (const std::int64_t n : {8, 16, 24, 40, 64, 72, 104, 136, 520, 1024, 5120, 28672}) {
          for (const std::int64_t k : {8, 504, 512, 1016, 1024, 3584, 13824, 28672}) {
            EXPECT_NE(first_tile(product_problem(name, m, n, k), gpu), "none")
                << name << " m=" << m << " n=" << n << " k=" << k << ", " << gpu.sm_count;
          }
        }
      }
    }
  }
}

// wgmma_swapped repeats the estimate of wgmma, because a design has no access to the `let` of
// another.
TEST(GemmLadder, BothDesignsHaveTheSameEstimateOfWgmma) {
  const auto lets_of = [](const char* design) {
    std::map<std::string, std::string> lets;
    for (const Design& each : product("gemm.forward").designs) {
      if (each.name != design) continue;
      for (const Let& let : each.lets) lets[let.name] = let.value.text();
    }
    return lets;
  };
  const auto wgmma = lets_of("wgmma"), swapped = lets_of("wgmma_swapped");
  for (const char* name :
       {"slabs", "rows_256", "rows_128", "rows_64", "time_of_pairs", "time_of_two", "time_of_one",
        "tiles_of_64", "sharers_of_64", "time_of_shares", "time_of_two_parts"}) {
    EXPECT_EQ(swapped.at(name), wgmma.at(name)) << name;
  }
  EXPECT_EQ(swapped.at("time_of_wgmma"), wgmma.at("best_time"));
}

TEST(GemmLadder, LetsTwoBlocksShareTheKOfFewTiles) {
  EXPECT_THAT(first_tile(product_problem("gemm.forward", 512, 512, 3584), kH200),
              testing::StartsWith("wgmma CONSUMERS=1 BLOCK_N=64 BLOCK_K=128 STAGES=6 CLUSTER=1 "
                                  "CLUSTER_K=2 "));
  EXPECT_THAT(first_tile(product_problem("gemm.forward", 256, 512, 4096), kH200),
              testing::AllOf(testing::HasSubstr("BLOCK_N=32"), testing::HasSubstr("CLUSTER_K=2")));
  for (const std::int64_t k : {4096, 8192}) {
    EXPECT_THAT(first_tile(product_problem("gemm.forward", 512, 1024, k), kH200),
                testing::StartsWith("wgmma CONSUMERS=2 BLOCK_N=64 BLOCK_K=64 STAGES=7 CLUSTER=1 "
                                    "CLUSTER_K=2 "));
  }
}

// 160 tiles of 64 x 64 would take two waves.
TEST(GemmLadder, HasTilesBetweenThoseOf64AndOf128Columns) {
  EXPECT_THAT(first_tile(product_problem("gemm.forward", 512, 1280, 5120), kH200),
              testing::StartsWith("wgmma CONSUMERS=1 BLOCK_N=96 "));
}

TEST(GemmLadder, SharesTheLastWaveOfGateUpWhereItIsNearlyEmpty) {
  for (const std::int64_t m : {2048, 8192}) {
    const auto tile = [&](std::int64_t n, std::int64_t k) {
      return first_tile(product_problem("swiglu.gate_up", m, n, k), kH200);
    };
    const auto shared = testing::HasSubstr("STREAM_K=true");
    const auto widest = testing::HasSubstr("BLOCK_N=256");
    EXPECT_THAT(tile(28672, 8192), widest);
    EXPECT_THAT(tile(14336, 4096), widest);
    EXPECT_THAT(tile(18944, 3584), testing::AllOf(widest, testing::Not(shared)));
    if (m == 2048) {
      EXPECT_THAT(tile(28672, 8192), shared) << "27.15 waves";
    } else {
      EXPECT_THAT(tile(28672, 8192), testing::Not(shared)) << "108.6 waves";
    }
  }
}

// A second wave would take as long as the first one.
TEST(GemmLadder, LeavesOutClustersOfFourThatAreNotResidentAtOnce) {
  const Problem problem = product_problem("gemm.forward", 512, 1024, 8192);
  const std::string four =
      "wgmma CONSUMERS=2 BLOCK_N=160 BLOCK_K=64 STAGES=4 CLUSTER=1 CLUSTER_K=4 GROUP=8 "
      "STREAM_K=false Y_STAGES=2 PDL=true";
  EXPECT_TRUE(serves_with_clusters(problem, four, 28));
  EXPECT_FALSE(serves_with_clusters(problem, four, 27));
  const std::string two =
      "wgmma CONSUMERS=1 BLOCK_N=64 BLOCK_K=128 STAGES=6 CLUSTER=1 CLUSTER_K=2 GROUP=8 "
      "STREAM_K=false Y_STAGES=2 PDL=true";
  EXPECT_TRUE(serves_with_clusters(product_problem("gemm.forward", 512, 512, 3584), two, 66));
}

}  // namespace
}  // namespace mgtune
