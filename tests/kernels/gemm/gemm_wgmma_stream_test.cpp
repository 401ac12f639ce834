// The design wgmma_stream of gemm.forward, on the cpu device with the limits of Hopper, by the
// tuner's own check (gemm_forward_test.cpp says what that is). shipped_kernels_nvrtc_test.cpp
// compiles it for a GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

// One for all tests: it keeps what it builds. Its device says 9.0.
OperatorCheck& hopper_gemm_check() {
  const Variable capability("MGTUNE_CPU_COMPUTE_CAPABILITY", "90");
  static OperatorCheck check("gemm.forward");
  return check;
}

std::string weights_stream(int rows, int consumers, int block_k, const std::string& more) {
  return "wgmma_stream ROWS=" + std::to_string(rows) + " CONSUMERS=" + std::to_string(consumers) +
         " BLOCK_K=" + std::to_string(block_k) + " BLOCKS_PER_SM=1 " + more;
}

// One slab; tails of every tile; gaps between rows; tiles that many blocks share; blocks with the
// end of a tile, whole tiles and the beginning of another.
TEST(GemmWgmmaStream, EqualsTheReference) {
  const std::string alone = "RING=108 WHOLE=false PDL=false";
  const std::string early = "RING=216 WHOLE=false PDL=true";
  const std::string silu = ",silu=true,bias=true,residual=true,T=bf16";
  hopper_gemm_check().expect_right({
      {weights_stream(16, 1, 64, alone),
       {"m=1,n=8,k=8" + silu,
        "m=3,n=72,k=200,x_stride=208,w_stride=216,residual_stride=80,y_stride=88" + silu,
        "m=16,n=136,k=2056" + silu, "m=5,n=1200,k=136" + silu}},
      {weights_stream(32, 2, 128, early), {"m=17,n=264,k=520,T=f16", "m=32,n=24,k=1032,T=f16"}},
      {weights_stream(16, 1, 128, "RING=108 WHOLE=false PDL=true"), {"m=7,n=392,k=1160,T=bf16"}},
      {weights_stream(48, 1, 128, alone), {"m=41,n=200,k=328,gelu=true,T=bf16"}},
      {weights_stream(64, 4, 64, early), {"m=50,n=520,k=392,relu=true,residual=true,T=bf16"}},
  });
}

// Tiles that no instruction of 64 rows divides; blocks with several tiles; a block with fewer tiles
// than the others; warpgroups without rows; slabs behind the end of k.
TEST(GemmWgmmaStream, WholeTilesEqualTheReference) {
  const std::string whole = "RING=216 WHOLE=true PDL=";
  hopper_gemm_check().expect_right({
      {weights_stream(16, 2, 64, whole + "false"),
       {"m=3,n=840,k=200,x_stride=208,w_stride=216,y_stride=848,gelu=true,bias=true,T=bf16",
        "m=16,n=2504,k=1032,gelu=true,bias=true,T=bf16"}},
      {weights_stream(16, 2, 128, whole + "true"), {"m=9,n=1016,k=136,residual=true,T=f16"}},
      {weights_stream(16, 4, 128, whole + "true"), {"m=1,n=800,k=328,residual=true,T=f16"}},
  });
}

TEST(GemmWgmmaStream, ServesFewRowsOnHopperAlone) {
  const auto first = [](int m, const DeviceLimits& device) {
    return hopper_gemm_check().first_of_ladder("m=" + std::to_string(m) + ",n=8192,k=4096,T=bf16",
                                               device);
  };
  for (int m = 1; m <= 48; ++m) {
    const int rows = (m + 15) / 16 * 16;
    EXPECT_THAT(first(m, kH200),
                testing::StartsWith("wgmma_stream ROWS=" + std::to_string(rows) + " "));
  }
  EXPECT_THAT(first(65, kH200), testing::Not(testing::StartsWith("wgmma_stream ")));
  const auto small = [](const char* problem) {
    return hopper_gemm_check().first_of_ladder(problem, kH200);
  };
  EXPECT_THAT(small("m=4,n=8192,k=704,T=bf16"), testing::StartsWith("stream "));
  EXPECT_THAT(small("m=16,n=576,k=1984,T=bf16"), testing::StartsWith("wgmma_split_k "));
  EXPECT_THAT(small("m=53,n=640,k=2624,T=bf16"),
              testing::StartsWith("wgmma_split_k CONSUMERS=1 BLOCK_N=32 BLOCK_K=128 STAGES=8 "
                                  "CLUSTER=1 CLUSTER_K=4 "));
  EXPECT_THAT(first(1, kH200), testing::HasSubstr("WHOLE=false"));
  EXPECT_THAT(hopper_gemm_check().first_of_ladder("m=1,n=14336,k=4096,T=bf16", kH200),
              testing::HasSubstr("WHOLE=true"))
      << "its tiles have 112 rows";
  EXPECT_THAT(first(1, kA100), testing::StartsWith("stream "));
  EXPECT_THAT(first(1, kL4), testing::StartsWith("stream "));
}

}  // namespace
}  // namespace mgtune
