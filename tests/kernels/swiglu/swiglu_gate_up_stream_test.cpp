// The design wgmma_stream of swiglu.gate_up, on the cpu device with the limits of Hopper, by the
// tuner's own check (swiglu_gate_up_test.cpp says what that is).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

// One for all tests: it keeps what it builds. Its device says 9.0.
OperatorCheck& hopper_gate_up_check() {
  const Variable capability("MGTUNE_CPU_COMPUTE_CAPABILITY", "90");
  static OperatorCheck check("swiglu.gate_up");
  return check;
}

// One slab; tails of every tile; gaps between rows; tiles that many blocks share; blocks with the
// end of a tile, whole tiles and the beginning of another.
TEST(SwigluGateUpStream, EqualsTheReference) {
  hopper_gate_up_check().expect_right({
      {"wgmma_stream ROWS=16 CONSUMERS=1 BLOCK_K=64 RING=108 WHOLE=false BLOCKS_PER_SM=1 PDL=false",
       {"m=1,n=8,k=8,gate=true,up=true,T=bf16",
        "m=3,n=72,k=200,x_stride=208,gate_w_stride=216,up_w_stride=224,gate=true,up=true,"
        "gate_stride=80,up_stride=88,h_stride=96,T=bf16",
        "m=16,n=136,k=2056,gate=true,up=true,T=bf16", "m=5,n=1200,k=136,gate=true,up=true,T=bf16"}},
      {"wgmma_stream ROWS=16 CONSUMERS=1 BLOCK_K=128 RING=108 WHOLE=false BLOCKS_PER_SM=1 PDL=true",
       {"m=7,n=392,k=1160,T=bf16"}},
      {"wgmma_stream ROWS=64 CONSUMERS=2 BLOCK_K=64 RING=216 WHOLE=false BLOCKS_PER_SM=1 PDL=true",
       {"m=50,n=264,k=520,T=f16"}},
      {"wgmma_stream ROWS=16 CONSUMERS=2 BLOCK_K=128 RING=216 WHOLE=true BLOCKS_PER_SM=1 PDL=true",
       {"m=2,n=600,k=328,T=bf16", "m=16,n=1400,k=136,T=bf16"}},
  });
}

TEST(SwigluGateUpStream, ServesFewRowsOnHopperAlone) {
  const auto first = [](const char* m, const DeviceLimits& device) {
    return hopper_gate_up_check().first_of_ladder("m=" + std::string(m) + ",n=14336,k=4096,T=bf16",
                                                  device);
  };
  EXPECT_THAT(first("1", kH200), testing::StartsWith("wgmma_stream ROWS=16 "));
  EXPECT_THAT(first("64", kH200), testing::StartsWith("wgmma_stream ROWS=64 "));
  EXPECT_THAT(first("65", kH200), testing::StartsWith("wgmma"));
  const auto small = [](const char* problem) {
    return hopper_gate_up_check().first_of_ladder(problem, kH200);
  };
  EXPECT_THAT(small("m=2,n=3712,k=960,T=bf16"), testing::HasSubstr("CONSUMERS=4"));
  EXPECT_THAT(small("m=2,n=576,k=4736,T=bf16"), testing::StartsWith("stream "));
  EXPECT_THAT(small("m=6,n=640,k=640,T=bf16"),
              testing::StartsWith("stream ROWS=8 CHUNK=1024 WARPS=8 STAGES=3 BLOCKS_PER_SM=1"))
      << "2.9 us; two blocks of four warps per SM take 3.8 us";
  EXPECT_THAT(small("m=34,n=2816,k=640,T=bf16"), testing::StartsWith("wgmma_single "));
  EXPECT_THAT(first("1", kA100), testing::StartsWith("stream "));
}

}  // namespace
}  // namespace mgtune
