// swiglu.gate_up on the cpu device: variants of each design over edge shapes, by the tuner's own
// check: the fp64 reference, fresh inputs, guard bands, poisoned outputs and padding, equal bits
// with threads in any order. And that its ladder serves every problem.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

OperatorCheck& gate_up_check() {
  static OperatorCheck check("swiglu.gate_up");
  return check;
}

using GateUpCases = std::vector<std::pair<std::string, std::vector<std::string>>>;

// A case has one kernel: compiling takes longer than computing.
TEST(SwigluGateUp, TilesEqualTheReference) {
  gate_up_check().expect_right(GateUpCases{
      {"mma_sync BLOCK_M=64 BLOCK_N=32 BLOCK_K=64 WARPS_M=4 WARPS_N=1 STAGES=3 GROUP_M=8 "
       "BLOCKS_PER_SM=1 SPLIT_K=1",
       {"m=70,n=40,k=72,gate=true,up=true,gate_stride=48,up_stride=56,h_stride=64,T=bf16"}},
      {"mma_sync BLOCK_M=32 BLOCK_N=64 BLOCK_K=64 WARPS_M=2 WARPS_N=2 STAGES=2 GROUP_M=1 "
       "BLOCKS_PER_SM=1 SPLIT_K=2",
       {"m=33,n=8,k=1032,x_stride=1040,gate_w_stride=1048,up_w_stride=1056,T=f16"}},
  });
}

TEST(SwigluGateUp, StreamEqualsTheReference) {
  gate_up_check().expect_right(GateUpCases{
      {"stream ROWS=8 CHUNK=1024 WARPS=4 STAGES=3 BLOCKS_PER_SM=1 PDL=false",
       {"m=1,n=8,k=8,gate=true,T=bf16",
        "m=3,n=40,k=72,x_stride=80,gate_w_stride=88,up_w_stride=96,gate=true,T=bf16",
        "m=8,n=264,k=2104,gate=true,T=bf16"}},
  });
}

TEST(SwigluGateUp, PlainEqualsTheReference) {
  gate_up_check().expect_right(GateUpCases{
      {"plain",
       {"m=1,n=8,k=8,gate=true,up=true,T=f16",
        "m=70,n=72,k=24,gate=true,up=true,gate_stride=80,up_stride=88,h_stride=96,T=f16"}},
  });
}

TEST(SwigluGateUpLadder, ServesEveryProblemOnEveryGpu) {
  for (const DeviceLimits& device : {kT4, kA100, kL4, kH200}) {
    for (const char* m : {"1", "8", "16", "17", "32", "33", "300", "100000"}) {
      for (const char* sizes : {"n=8,k=8", "n=14336,k=4096", "n=28672,k=8192"}) {
        const std::string words = "m=" + std::string(m) + "," + sizes + ",T=bf16";
        const std::string first = gate_up_check().first_of_ladder(words, device);
        EXPECT_NE(first, "none") << words;
        EXPECT_EQ(first == "plain", device.compute_capability < 80) << words << ": " << first;
      }
    }
  }
}

// Every size has a tile on Hopper, also where one tile is too wide for h.
TEST(SwigluGateUpLadder, HasATileForEverySizeOnHopper) {
  for (const char* m : {"65", "128", "129", "193", "300", "3000", "100000"}) {
    for (const char* sizes : {"n=24,k=8", "n=40,k=100000", "n=72,k=520", "n=13824,k=5120"}) {
      const std::string words = "m=" + std::string(m) + "," + sizes + ",T=bf16";
      EXPECT_THAT(gate_up_check().first_of_ladder(words, kH200), testing::StartsWith("wgmma"))
          << words;
    }
  }
}

}  // namespace
}  // namespace mgtune
