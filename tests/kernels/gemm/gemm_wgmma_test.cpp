// The design wgmma of gemm.forward and swiglu.gate_up, on the cpu device with the limits of Hopper,
// by the tuner's own check (gemm_forward_test.cpp says what that is). A cluster has one block
// there: gpu/gemm_test.cpp runs larger ones.

#include <gtest/gtest.h>

#include <string>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

// One for each operator: it keeps what it builds. Its device says 9.0.
OperatorCheck& wgmma_check(const char* name) {
  const Variable capability("MGTUNE_CPU_COMPUTE_CAPABILITY", "90");
  static OperatorCheck gemm("gemm.forward"), gate_up("swiglu.gate_up");
  return name == std::string("gemm") ? gemm : gate_up;
}

std::string single(int columns, int block_k, int stages, const std::string& more) {
  return "wgmma_single BLOCK_N=" + std::to_string(columns) + " BLOCK_K=" + std::to_string(block_k) +
         " STAGES=" + std::to_string(stages) + " GROUP=8 " + more;
}

std::string two_consumers(int columns, int stages, const std::string& more) {
  return "wgmma CONSUMERS=2 BLOCK_N=" + std::to_string(columns) +
         " STAGES=" + std::to_string(stages) + " CLUSTER=1 GROUP=8 Y_STAGES=2 " + more;
}

// Tails of tiles in every direction, gaps between rows, columns that are stored from registers.
TEST(GemmWgmma, EqualsTheReference) {
  const std::string whole = "STREAM_K=false PDL=true";
  const std::string shared = "STREAM_K=true PDL=false";
  const std::string silu = ",silu=true,bias=true,residual=true,T=bf16";
  wgmma_check("gemm").expect_right({
      {single(32, 128, 8, whole),
       {"m=70,n=40,k=200,x_stride=208,w_stride=216,residual_stride=48,y_stride=56" + silu,
        "m=1,n=24,k=8" + silu}},
      {two_consumers(96, 6, whole), {"m=130,n=264,k=136,gelu=true,T=f16"}},
      {single(64, 64, 8, shared), {"m=65,n=24,k=2056,relu=true,bias=true,T=bf16"}},
      {two_consumers(64, 7, shared), {"m=70,n=24,k=4104,T=f16"}},
  });
}

std::string swapped(int consumers, int rows, int stages, const std::string& more) {
  return "wgmma_swapped CONSUMERS=" + std::to_string(consumers) +
         " BLOCK_M=" + std::to_string(rows) + " STAGES=" + std::to_string(stages) +
         " CLUSTER=1 GROUP=1 " + more;
}

// Tails of tiles in every direction, gaps between rows, an odd number of groups of rows.
TEST(GemmWgmmaSwapped, EqualsTheReference) {
  const std::string silu = ",silu=true,bias=true,residual=true,T=bf16";
  wgmma_check("gemm").expect_right({
      {swapped(1, 80, 8, "Y_STAGES=1 PDL=true"),
       {"m=165,n=72,k=200,x_stride=208,w_stride=216,residual_stride=80,y_stride=88" + silu}},
      {swapped(2, 112, 6, "Y_STAGES=1 PDL=false"), {"m=220,n=264,k=136,gelu=true,T=f16"}},
      {"wgmma_swapped_wide BLOCK_M=144 STAGES=4 CLUSTER=1 GROUP=1 Y_STAGES=1 PDL=true",
       {"m=270,n=760,k=328" + silu}},
      {swapped(3, 192, 4, "Y_STAGES=1 PDL=false"), {"m=370,n=568,k=72,relu=true,T=f16"}},
  });
}

TEST(GateUpWgmma, EqualsTheReference) {
  wgmma_check("gate_up").expect_right({
      {single(64, 128, 7, "STREAM_K=false PDL=true"),
       {"m=70,n=40,k=200,x_stride=208,h_stride=48,gate=true,up=true,T=bf16"}},
      {two_consumers(128, 6, "STREAM_K=false PDL=false"), {"m=130,n=136,k=136,T=f16"}},
      {single(64, 64, 8, "STREAM_K=true PDL=false"), {"m=70,n=24,k=2056,up=true,T=f16"}},
  });
}

}  // namespace
}  // namespace mgtune
