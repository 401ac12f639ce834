// gemm.forward on the cpu device: variants of each design over edge shapes, by the tuner's own
// check: the fp64 reference, fresh inputs, guard bands, poisoned outputs and padding, equal bits
// with threads in any order. And where its ladder leads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

OperatorCheck& gemm_check() {
  static OperatorCheck check("gemm.forward");
  return check;
}

using Cases = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::string tiles(int m, int n, int k, int warps_m, int warps_n, int stages, int group, int split) {
  const auto word = [](const char* name, int value) {
    return std::string(name) + "=" + std::to_string(value) + " ";
  };
  return "mma_sync " + word("BLOCK_M", m) + word("BLOCK_N", n) + word("BLOCK_K", k) +
         word("WARPS_M", warps_m) + word("WARPS_N", warps_n) + word("STAGES", stages) +
         word("GROUP_M", group) + word("BLOCKS_PER_SM", 1) + "SPLIT_K=" + std::to_string(split);
}

// A case has one kernel: compiling takes longer than computing. One row and piece, tails of tiles
// in every direction, several tiles, gaps between rows.
TEST(GemmForward, TilesEqualTheReference) {
  const std::string gelu = ",gelu=true,bias=true,residual=true,T=bf16";
  gemm_check().expect_right(Cases{
      {tiles(32, 64, 32, 2, 2, 2, 1, 1),
       {"m=1,n=8,k=8" + gelu, "m=33,n=72,k=40" + gelu,
        "m=5,n=136,k=200,x_stride=208,w_stride=216,residual_stride=144,y_stride=152" + gelu}},
      {tiles(64, 64, 64, 2, 2, 3, 8, 1), {"m=70,n=136,k=72,T=f16"}},
  });
}

// Parts of k that are full and short; the sum of the parts has the epilogue once.
TEST(GemmForward, SplitTilesEqualTheReference) {
  gemm_check().expect_right(Cases{
      {tiles(32, 64, 64, 2, 2, 2, 1, 2),
       {"m=33,n=8,k=1024,relu=true,bias=true,T=f16", "m=9,n=72,k=1032,relu=true,bias=true,T=f16"}},
  });
}

TEST(GemmForward, StreamEqualsTheReference) {
  const std::string silu = ",silu=true,bias=true,residual=true,T=bf16";
  gemm_check().expect_right(Cases{
      {"stream ROWS=8 CHUNK=1024 WARPS=4 STAGES=6 BLOCKS_PER_SM=1 PDL=false",
       {"m=1,n=8,k=8" + silu,
        "m=3,n=40,k=72,x_stride=80,w_stride=88,residual_stride=56,y_stride=48" + silu,
        "m=8,n=264,k=328" + silu, "m=7,n=40,k=2104" + silu}},
      {"stream ROWS=32 CHUNK=1024 WARPS=4 STAGES=6 BLOCKS_PER_SM=1 PDL=false",
       {"m=17,n=24,k=264,T=f16", "m=32,n=40,k=1032,T=f16"}},
  });
}

TEST(GemmForward, PlainEqualsTheReference) {
  gemm_check().expect_right(Cases{
      {"plain",
       {"m=1,n=8,k=8,relu=true,residual=true,T=bf16",
        "m=70,n=136,k=40,x_stride=48,w_stride=56,y_stride=144,relu=true,residual=true,T=bf16"}},
  });
}

TEST(GemmForwardLadder, ServesEveryProblemOnEveryGpu) {
  for (const DeviceLimits& device : {kT4, kA100, kL4, kH200}) {
    for (const char* m : {"1", "8", "16", "17", "32", "33", "300", "100000"}) {
      for (const char* sizes : {"n=8,k=8", "n=1024,k=4096", "n=4096,k=14336", "n=28672,k=8192"}) {
        const std::string words = "m=" + std::string(m) + "," + sizes + ",T=bf16";
        const std::string first = gemm_check().first_of_ladder(words, device);
        EXPECT_NE(first, "none") << words;
        EXPECT_EQ(first == "plain", device.compute_capability < 80) << words << ": " << first;
      }
    }
  }
}

// Few rows stream the weights, few tiles share k, and many rows have the largest tiles.
TEST(GemmForwardLadder, ChoosesByTheNumberOfRowsAndTiles) {
  using testing::StartsWith;
  const auto design = [](const char* words, const DeviceLimits& device) {
    return gemm_check().first_of_ladder(words, device);
  };
  for (const char* words : {"m=1,n=14336,k=4096,T=bf16", "m=16,n=4096,k=14336,T=bf16"}) {
    EXPECT_THAT(design(words, kH200),
                testing::AnyOf(StartsWith("stream"), StartsWith("wgmma_stream")));
    EXPECT_THAT(design(words, kL4), StartsWith("stream"));
  }
  EXPECT_THAT(design("m=1,n=14336,k=4096,T=bf16", kA100), StartsWith("stream ROWS=8 CHUNK=4096"));
  EXPECT_THAT(design("m=1,n=1024,k=4096,T=bf16", kA100), StartsWith("stream ROWS=8 CHUNK=1024"));
  EXPECT_THAT(design("m=64,n=1024,k=4096,T=bf16", kA100), testing::EndsWith("SPLIT_K=4"));
  EXPECT_THAT(design("m=8192,n=4096,k=4096,T=bf16", kH200), StartsWith("wgmma "));
  EXPECT_THAT(design("m=8192,n=4096,k=4096,T=bf16", kA100),
              StartsWith("mma_sync BLOCK_M=128 BLOCK_N=256"));
  EXPECT_EQ(design("m=8192,n=4096,k=4096,T=bf16", kT4), "plain");
}

// Every size has a tile, also where one tile is too wide for y. gemm_ladder_test has more.
TEST(GemmForwardLadder, HasTilesForEverySize) {
  using testing::StartsWith;
  const auto design = [](const char* words) { return gemm_check().first_of_ladder(words, kH200); };
  for (const char* m : {"65", "128", "129", "192", "193", "300", "3000", "100000"}) {
    for (const char* n : {"24", "40", "72", "520", "5120", "13824"}) {
      for (const char* k : {"8", "504", "520", "5120", "100000"}) {
        const std::string words = std::string("m=") + m + ",n=" + n + ",k=" + k + ",T=bf16";
        EXPECT_THAT(design(words.c_str()),
                    testing::AllOf(StartsWith("wgmma"), testing::Not(StartsWith("wgmma_stream"))))
            << words;
      }
    }
  }
}

TEST(GemmForwardSpace, StaysSmall) {
  EXPECT_LE(gemm_check().count("m=1,n=14336,k=4096,T=bf16", kA100), 400u);
  EXPECT_LE(gemm_check().count("m=8192,n=4096,k=4096,T=bf16", kA100), 1000u);
}

}  // namespace
}  // namespace mgtune
