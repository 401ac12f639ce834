// linear.decode on the cpu device: variants over edge shapes, by the tuner's own check: the fp64
// reference, fresh inputs, guard bands, poisoned outputs and padding, equal bits with threads in
// any order. And where its ladder leads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

OperatorCheck& linear_decode_check() {
  static OperatorCheck check("linear.decode");
  return check;
}

using LinearCases = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::string linear_variant(int threads, int rows_per_warp, int vec, int unroll, int split,
                           const std::string& input) {
  const auto word = [](const char* name, int value) {
    return std::string(name) + "=" + std::to_string(value) + " ";
  };
  return "stream " + word("THREADS", threads) + word("ROWS_PER_WARP", rows_per_warp) +
         word("VEC", vec) + word("UNROLL", unroll) + word("SPLIT", split) +
         "BLOCKS_PER_SM=1 ROOM=1 INPUT=" + input +
         " CACHE=" + (vec == 1 ? "normal" : "no_allocate") + " PDL=false";
}

// A case has one kernel: compiling takes longer than computing. Fewer outputs than a warp takes at
// a time, one vector, several turns, gaps between rows.
TEST(LinearDecode, GateAfterRmsNormEqualsTheReference) {
  const std::string rest = ",rmsnorm=true,silu_gate=true,bias=true,residual=true,T=bf16,X=f32";
  linear_decode_check().expect_right(LinearCases{
      {linear_variant(256, 4, 8, 2, 2, "shared"),
       {"rows=2,out=1,in=8" + rest, "rows=2,out=1031,in=40" + rest,
        "rows=2,out=7,in=1032,x_stride=1048,w_stride=1040,residual_stride=9,y_stride=11,w_up=true" +
            rest}},
  });
}

TEST(LinearDecode, GeluAfterLayerNormEqualsTheReference) {
  const std::string layer = ",layernorm=true,norm_bias=true,gelu_tanh=true,bias=true,T=f32";
  const std::string direct = ",layernorm=true,gelu_tanh=true,residual=true,T=f16,Y=f32";
  linear_decode_check().expect_right(LinearCases{
      {linear_variant(256, 1, 4, 2, 8, "shared"), {"rows=8,out=5,in=516" + layer}},
      {linear_variant(256, 2, 8, 2, 1, "direct"), {"rows=8,out=5,in=2232" + direct}},
  });
}

// Sizes and addresses that no wide load fits; a block with one warp per group, and one group.
TEST(LinearDecode, SingleElementsEqualTheReference) {
  const std::string rest = ",rmsnorm=true,T=bf16,Y=f32";
  linear_decode_check().expect_right(LinearCases{
      {linear_variant(256, 1, 1, 4, 1, "direct"),
       {"rows=1,out=1,in=1" + rest, "rows=1,out=19,in=333,x_stride=340,w_stride=335" + rest}},
      {linear_variant(512, 1, 4, 2, 2, "shared"), {"rows=5,out=70,in=36,T=bf16"}},
  });
}

std::string ring_variant(int threads, int rows_per_warp, int stages, int pieces, int split,
                         const std::string& rest) {
  const auto word = [](const char* name, int value) {
    return std::string(name) + "=" + std::to_string(value) + " ";
  };
  return "ring " + word("THREADS", threads) + word("ROWS_PER_WARP", rows_per_warp) +
         word("STAGES", stages) + word("PIECES", pieces) + word("SPLIT", split) +
         "BLOCKS_PER_SM=1 " + rest;
}

// Rings that turn many times, that never turn, and whose last step is not whole.
TEST(LinearDecode, RingsEqualTheReference) {
  const std::string gate = ",rmsnorm=true,silu_gate=true,bias=true,residual=true,T=bf16,X=f32";
  linear_decode_check().expect_right(LinearCases{
      {ring_variant(256, 4, 3, 1, 2, "INPUT=shared COPY=lanes TRIGGER=begin PDL=false"),
       {"rows=2,out=1031,in=264" + gate,
        "rows=2,out=7,in=1032,x_stride=1048,w_stride=1040,residual_stride=9,y_stride=11,w_up=true" +
            gate}},
      {ring_variant(128, 8, 6, 1, 4, "INPUT=shared COPY=lanes TRIGGER=begin PDL=false"),
       {"rows=1,out=70,in=2056,T=f16", "rows=1,out=1,in=520,T=f16"}},
  });
}

// The copy engine fills the ring on Hopper only.
TEST(LinearDecode, RingsOfTheCopyEngineEqualTheReference) {
  const Variable capability("MGTUNE_CPU_COMPUTE_CAPABILITY", "90");
  OperatorCheck check("linear.decode");
  const std::string layer = ",layernorm=true,norm_bias=true,bias=true,T=f32";
  check.expect_right(LinearCases{
      {ring_variant(128, 2, 6, 2, 2, "INPUT=shared COPY=bulk TRIGGER=last_loads PDL=true"),
       {"rows=3,out=530,in=300" + layer, "rows=3,out=3,in=2304" + layer}},
  });
}

std::string mma_variant(int threads, int tiles, int stages, int split,
                        const std::string& rest = "INPUT=shared TRIGGER=begin PDL=false") {
  const auto word = [](const char* name, int value) {
    return std::string(name) + "=" + std::to_string(value) + " ";
  };
  return "mma " + word("THREADS", threads) + word("TILES", tiles) + word("STAGES", stages) +
         word("SPLIT", split) + "BLOCKS_PER_SM=1 " + rest;
}

// One output, tiles that are not whole, rows of w whose last step has one vector, several turns.
TEST(LinearDecode, TensorCoresWithAGateEqualTheReference) {
  const std::string rest = ",rmsnorm=true,silu_gate=true,bias=true,residual=true,T=bf16,X=f32";
  linear_decode_check().expect_right(LinearCases{
      {mma_variant(256, 1, 3, 8),
       {"rows=2,out=1,in=264" + rest,
        "rows=2,out=203,in=1032,x_stride=1048,w_stride=1040,residual_stride=209,y_stride=211,"
        "w_up=true" +
            rest}},
      {mma_variant(128, 2, 3, 2), {"rows=8,out=571,in=72" + rest}},
  });
}

// An f32 result shows whether x keeps all of its digits: 2 to 8 rows of 3 parts have 6 to 24
// columns.
TEST(LinearDecode, TensorCoresKeepAllDigitsOfTheInput) {
  const std::string rms = ",rmsnorm=true,T=bf16,X=f32,Y=f32";
  const std::string layer = ",layernorm=true,norm_bias=true,T=bf16,Y=f32";
  linear_decode_check().expect_right(LinearCases{
      {mma_variant(256, 2, 2, 1), {"rows=2,out=33,in=8" + rms, "rows=2,out=1,in=64" + rms}},
      {mma_variant(256, 1, 3, 4), {"rows=3,out=70,in=136" + rms}},
      {mma_variant(256, 1, 3, 8), {"rows=5,out=37,in=1032,gelu_tanh=true" + layer}},
      {mma_variant(512, 1, 2, 8), {"rows=7,out=21,in=1032,bias=true,X=f32,T=bf16,Y=f32"}},
  });
}

// Large and small elements: f16 overflows at 65,504, and has few digits below 0.00006.
TEST(LinearDecode, TensorCoresWithHalfPrecisionEqualTheReference) {
  const std::string layer = ",layernorm=true,norm_bias=true,T=f16,X=f32,Y=f32";
  linear_decode_check().expect_right(LinearCases{
      {mma_variant(256, 1, 3, 2), {"rows=4,out=19,in=200,rmsnorm=true,gelu_tanh=true,T=f16"}},
      {mma_variant(128, 1, 6, 1), {"rows=6,out=40,in=520" + layer}},
  });
}

// x as it is, from shared memory, and from the caches where it is too wide.
TEST(LinearDecode, TensorCoresWithExactInputsEqualTheReference) {
  const std::string residual = ",residual=true,T=bf16,Y=f32";
  linear_decode_check().expect_right(LinearCases{
      {mma_variant(256, 1, 4, 8), {"rows=5,out=100,in=520,x_stride=528" + residual}},
      {mma_variant(256, 2, 2, 8, "INPUT=direct TRIGGER=begin PDL=false"),
       {"rows=7,out=37,in=14344" + residual}},
  });
}

TEST(LinearDecode, TensorCoresOfDependentLaunchesEqualTheReference) {
  const Variable capability("MGTUNE_CPU_COMPUTE_CAPABILITY", "90");
  OperatorCheck check("linear.decode");
  check.expect_right(LinearCases{
      {mma_variant(256, 1, 4, 4, "INPUT=shared TRIGGER=last_loads PDL=true"),
       {"rows=8,out=530,in=200,rmsnorm=true,T=bf16", "rows=8,out=3,in=584,rmsnorm=true,T=bf16"}},
  });
}

TEST(LinearDecodeLadder, ServesEveryProblemOnEveryGpu) {
  for (const DeviceLimits& device : {kT4, kA100, kL4, kH200}) {
    for (const char* rows : {"1", "3", "8"}) {
      for (const char* sizes : {"out=1,in=1", "out=2048,in=2048", "out=512,in=172",
                                "out=8192,in=2048,rmsnorm=true,silu_gate=true",
                                "out=4096,in=14336,layernorm=true", "out=50257,in=770"}) {
        for (const char* dtype : {"f32", "bf16"}) {
          const std::string words =
              "rows=" + std::string(rows) + "," + sizes + ",T=" + std::string(dtype);
          const std::string first = linear_decode_check().first_of_ladder(words, device);
          EXPECT_NE(first, "none") << words;
          if (std::string(rows) != "1" || first.find("shared") == std::string::npos) continue;
          EXPECT_EQ(first.find("PDL=true") != std::string::npos, device.compute_capability >= 90)
              << words << ": " << first;
        }
      }
    }
  }
}

TEST(LinearDecodeLadder, ReadsWideRowsFromTheCaches) {
  const auto first = [](const char* words) {
    return linear_decode_check().first_of_ladder(words, kH200);
  };
  EXPECT_THAT(first("rows=1,out=2048,in=8192,T=bf16"), testing::HasSubstr("INPUT=shared"));
  EXPECT_THAT(first("rows=8,out=2048,in=8192,T=f32"), testing::HasSubstr("INPUT=direct"));
  EXPECT_THAT(first("rows=8,out=8192,in=2048,rmsnorm=true,silu_gate=true,T=f32"),
              testing::HasSubstr("ring THREADS=256 ROWS_PER_WARP=4 STAGES=4 PIECES=1 SPLIT=8"));
  EXPECT_THAT(first("rows=8,out=4096,in=14336,T=bf16"), testing::HasSubstr("INPUT=direct"));
  EXPECT_THAT(first("rows=1,out=2048,in=8192,T=bf16"), testing::HasSubstr("ring THREADS=256"));
  EXPECT_THAT(first("rows=1,out=2048,in=2044,T=bf16"), testing::HasSubstr("VEC=4"));
  EXPECT_THAT(first("rows=1,out=2048,in=2047,T=bf16"), testing::HasSubstr("VEC=1"));
}

// Several rows of 16-bit weights are for the tensor cores where they have 16-byte vectors, with as
// many steps in flight as x leaves room for. One row never is.
TEST(LinearDecodeLadder, MultipliesSeveralRowsOnTheTensorCores) {
  const auto first = [](const std::string& words, const DeviceLimits& device = kH200) {
    return linear_decode_check().first_of_ladder(words, device);
  };
  const std::string gate = ",out=8192,in=2048,rmsnorm=true,silu_gate=true,X=f32";
  for (const char* rows : {"rows=2", "rows=3", "rows=4", "rows=8"}) {
    for (const char* dtype : {",T=bf16", ",T=f16"}) {
      EXPECT_THAT(first(rows + gate + dtype),
                  testing::HasSubstr("mma THREADS=256 TILES=1 STAGES=8"));
      EXPECT_THAT(first(rows + gate + dtype, kA100), testing::StartsWith("mma"));
      EXPECT_THAT(first(rows + gate + dtype, kT4), testing::StartsWith("stream"));
    }
    EXPECT_THAT(first(rows + gate + ",T=f32"), testing::Not(testing::StartsWith("mma")));
    EXPECT_THAT(first(rows + std::string(",out=8192,in=2044,T=bf16")),
                testing::Not(testing::StartsWith("mma")));
  }
  EXPECT_THAT(first("rows=1" + gate + ",T=bf16"), testing::StartsWith("ring"));
  EXPECT_THAT(first("rows=8,out=128256,in=2048,rmsnorm=true,X=f32,Y=f32,T=bf16"),
              testing::HasSubstr("STAGES=6"));
  EXPECT_THAT(first("rows=8,out=2048,in=8192,residual=true,Y=f32,T=bf16"),
              testing::HasSubstr("STAGES=5 SPLIT=8 BLOCKS_PER_SM=1 INPUT=shared"));
  EXPECT_THAT(first("rows=8,out=4096,in=14336,residual=true,Y=f32,T=bf16"),
              testing::HasSubstr("STAGES=8 SPLIT=8 BLOCKS_PER_SM=1 INPUT=direct"));
}

}  // namespace
}  // namespace mgtune
