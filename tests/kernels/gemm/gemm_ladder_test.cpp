// The ladders of gemm.forward and swiglu.gate_up on Hopper: every product has a rung with wgmma,
// and by the estimates of the operator files products get the kind of tile that was the fastest on
// an H200, or within the scatter of it. results/h200/gemm.md has the times.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "family/catalog.h"
#include "selection/admission.h"
#include "selection/default_variants.h"
#include "system/file_system.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/ladders.h"

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

// The rung that an untuned problem runs, or "none".
std::string first_rung(const Problem& problem, const DeviceLimits& gpu) {
  const auto ladder = ladder_at(problem, default_ladder(problem.binding(), gpu), gpu);
  return ladder.empty() ? "none" : variant_text(*problem.op, ladder.front().variant);
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
            const std::string first = first_rung(product_problem(name, m, n, k), gpu);
            EXPECT_TRUE(first.starts_with("wgmma") || (m == 1 && first.starts_with("stream ")))
                << first << " " << name << " m=" << m << " n=" << n << " k=" << k << ", "
                << gpu.sm_count;
          }
        }
      }
    }
  }
}

TEST(GemmLadder, LetsBlocksShareTheKOfFewTiles) {
  const auto first = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return first_rung(product_problem("gemm.forward", m, n, k), kH200);
  };
  for (const std::int64_t m : {128, 200, 256}) {
    EXPECT_THAT(first(m, 640, 5120), testing::StartsWith("wgmma_split_k ")) << m;
  }
  EXPECT_THAT(first(512, 512, 3584), testing::StartsWith("wgmma_split_k "));
  EXPECT_THAT(first(48, 576, 3264), testing::AllOf(testing::HasSubstr("BLOCK_N=32 "),
                                                   testing::HasSubstr("CLUSTER_K=4 ")));
  EXPECT_THAT(first(8192, 4096, 4096), testing::StartsWith("wgmma CONSUMERS=2 BLOCK_N=256 "));
}

// If blocks share k, every further tile of a block waits for a counter. On an H200, 3 x 576 at
// k = 5,888 takes 8.1 us with two tiles per block, and 5.8 us with one; 1 x 704 of gate and up at
// k = 3,776 takes 8.2 us with three, and 6.3 us with two.
TEST(GemmLadder, GivesABlockFewTilesIfSeveralShareK) {
  EXPECT_THAT(first_rung(product_problem("gemm.forward", 3, 576, 5888), kH200),
              testing::StartsWith("stream ROWS=8 CHUNK=1024 WARPS=8 STAGES=2 BLOCKS_PER_SM=2 "));
  EXPECT_THAT(first_rung(product_problem("swiglu.gate_up", 1, 704, 3776), kH200),
              testing::HasSubstr("CHUNK=1024 WARPS=4 STAGES=3 BLOCKS_PER_SM=2 "));
}

// 75 rows are two tiles of 64 rows, and each would read all weights.
TEST(GemmLadder, HasTilesOfAnyMultipleOf16Rows) {
  for (const std::int64_t m : {67, 75}) {
    EXPECT_THAT(first_rung(product_problem("gemm.forward", m, 13824, 5120), kH200),
                testing::StartsWith("wgmma_swapped CONSUMERS=2 BLOCK_M=80 "));
  }
}

TEST(GemmLadder, SharesTheLastWaveOfGateUpWhereItIsNearlyEmpty) {
  const auto first = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return first_rung(product_problem("swiglu.gate_up", m, n, k), kH200);
  };
  const auto shared = testing::HasSubstr("STREAM_K=true");
  EXPECT_THAT(first(2048, 28672, 8192), shared) << "27.15 waves";
  EXPECT_THAT(first(8192, 28672, 8192), testing::Not(shared)) << "108.6 waves";
  for (const std::int64_t m : {2048, 8192}) {
    EXPECT_THAT(first(m, 14336, 4096), testing::HasSubstr("BLOCK_N=256 "));
    EXPECT_THAT(first(m, 28672, 8192), testing::HasSubstr("BLOCK_N=256 "));
  }
}

// A second wave would take as long as the first one.
TEST(GemmLadder, LeavesOutClustersOfFourThatAreNotResidentAtOnce) {
  const Problem problem = product_problem("gemm.forward", 512, 1024, 8192);
  const std::string four =
      "wgmma_split_k CONSUMERS=2 BLOCK_N=160 BLOCK_K=64 STAGES=4 CLUSTER=1 CLUSTER_K=4 PDL=true";
  EXPECT_TRUE(serves_with_clusters(problem, four, 28));
  EXPECT_FALSE(serves_with_clusters(problem, four, 27));
  const std::string two =
      "wgmma_split_k CONSUMERS=1 BLOCK_N=64 BLOCK_K=128 STAGES=6 CLUSTER=1 CLUSTER_K=2 PDL=true";
  EXPECT_TRUE(serves_with_clusters(product_problem("gemm.forward", 512, 512, 3584), two, 66));
}

// The products are near those that were measured with and without PDL (results/h200/untuned.md).
TEST(GemmLadder, OnlyShortProductsSetUpTheNextGridEarly) {
  const auto single = [](const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
    const bool is_product = std::string(name) == "gemm.forward";
    const std::string text =
        fmt::format("wgmma_single BLOCK_N=64 BLOCK_K=128 STAGES={} GROUP=8 STREAM_K=false PDL=",
                    is_product ? 6 : 7);
    const Problem problem = product_problem(name, m, n, k);
    EXPECT_FALSE(begins_early(problem, text + "false", kH200));
    return begins_early(problem, text + "true", kH200);
  };
  EXPECT_TRUE(single("gemm.forward", 53, 1664, 704));
  EXPECT_TRUE(single("gemm.forward", 75, 2496, 704)) << "78 blocks that read little";
  EXPECT_FALSE(single("gemm.forward", 75, 2496, 1280)) << "78 blocks that read 7 MB";
  EXPECT_FALSE(single("gemm.forward", 775, 1216, 5440));
  EXPECT_TRUE(single("swiglu.gate_up", 169, 1024, 640));
  EXPECT_FALSE(single("swiglu.gate_up", 26, 2688, 1600));
  EXPECT_FALSE(single("swiglu.gate_up", 100, 1984, 8128));
  const std::string two =
      "wgmma CONSUMERS=2 BLOCK_N=256 STAGES=4 CLUSTER=2 GROUP=8 STREAM_K=false Y_STAGES=2 PDL=true";
  for (const char* name : {"gemm.forward", "swiglu.gate_up"}) {
    EXPECT_TRUE(begins_early(product_problem(name, 1024, 4096, 1024), two, kH200)) << name;
    EXPECT_FALSE(begins_early(product_problem(name, 4096, 4096, 4096), two, kH200)) << name;
  }
}

}  // namespace
}  // namespace mgtune
