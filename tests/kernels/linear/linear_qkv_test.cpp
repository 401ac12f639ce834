// linear.qkv on the cpu device: both forms of the rotary embedding and none, over edge shapes, by
// the tuner's own check. The caches are compared as a whole, so that what is appended at a wrong
// place is found. And that its ladder serves every problem.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

OperatorCheck& linear_qkv_check() {
  static OperatorCheck check("linear.qkv");
  return check;
}

using QkvCases = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::string qkv_variant(const std::string& params) {
  return "stream THREADS=256 BLOCKS_PER_SM=1 ROOM=1 PDL=false " + params;
}

TEST(LinearQkv, HalvesEqualTheReference) {
  const std::string rest = ",rmsnorm=true,rotary_halves=true,T=bf16,X=f32";
  linear_qkv_check().expect_right(QkvCases{
      {qkv_variant("ROWS_PER_WARP=4 VEC=8 UNROLL=2 SPLIT=2 INPUT=shared CACHE=no_allocate"),
       {"rows=2,heads=3,kv_heads=3,head_dim=8,in=8,capacity=1" + rest,
        "rows=2,heads=4,kv_heads=1,head_dim=8,in=520,capacity=7,x_stride=528,w_stride=536" + rest}},
  });
}

// The position of the last of eight rows lies behind the caches.
TEST(LinearQkv, PairsEqualTheReference) {
  const std::string rest = ",rotary_pairs=true,bias=true,T=f32";
  linear_qkv_check().expect_right(QkvCases{
      {qkv_variant("ROWS_PER_WARP=2 VEC=4 UNROLL=2 SPLIT=1 INPUT=shared CACHE=streaming"),
       {"rows=8,heads=8,kv_heads=4,head_dim=8,in=64,capacity=5" + rest,
        "rows=8,heads=2,kv_heads=1,head_dim=8,in=60,capacity=3,q_stride=24,cache_sb=64,"
        "cache_ss=16" +
            rest}},
  });
}

TEST(LinearQkv, WithoutRotationEqualsTheReference) {
  const std::string rest = ",layernorm=true,norm_bias=true,bias=true,head_dim=6,rows=1,T=f16,C=f32";
  linear_qkv_check().expect_right(QkvCases{
      {qkv_variant("ROWS_PER_WARP=1 VEC=1 UNROLL=4 SPLIT=1 INPUT=direct CACHE=normal"),
       {"heads=1,kv_heads=1,in=1,capacity=1" + rest, "heads=3,kv_heads=3,in=77,capacity=9" + rest}},
  });
}

std::string qkv_mma_variant(const std::string& params) {
  return "mma " + params + " BLOCKS_PER_SM=1 TRIGGER=begin PDL=false";
}

// A tile of 8 pairs is two heads, or a part of one, or a part of two.
TEST(LinearQkv, TensorCoresEqualTheReference) {
  const std::string halves = ",rmsnorm=true,rotary_halves=true,T=bf16,X=f32";
  const std::string pairs = ",rotary_pairs=true,bias=true,rmsnorm=true,T=f16";
  const std::string neither = ",layernorm=true,norm_bias=true,bias=true,T=bf16,C=f32";
  linear_qkv_check().expect_right(QkvCases{
      {qkv_mma_variant("THREADS=256 TILES=1 STAGES=3 SPLIT=8"),
       {"rows=2,heads=3,kv_heads=3,head_dim=8,in=264,capacity=1" + halves,
        "rows=2,heads=4,kv_heads=1,head_dim=8,in=520,capacity=7,x_stride=528,w_stride=536" +
            halves}},
      {qkv_mma_variant("THREADS=256 TILES=2 STAGES=2 SPLIT=2"),
       {"rows=8,heads=2,kv_heads=1,head_dim=48,in=136,capacity=3,q_stride=112,cache_sb=320,"
        "cache_ss=96" +
        pairs}},
      {qkv_mma_variant("THREADS=128 TILES=1 STAGES=6 SPLIT=1"),
       {"rows=4,heads=3,kv_heads=3,head_dim=6,in=72,capacity=9" + neither}},
  });
}

TEST(LinearQkvLadder, ServesEveryProblemOnEveryGpu) {
  for (const DeviceLimits& device : {kT4, kA100, kL4, kH200}) {
    for (const char* rows : {"1", "8"}) {
      for (const char* sizes :
           {"heads=32,kv_heads=8,head_dim=64,in=2048", "heads=12,kv_heads=12,head_dim=64,in=768",
            "heads=8,kv_heads=4,head_dim=8,in=64", "heads=1,kv_heads=1,head_dim=2,in=1",
            "heads=64,kv_heads=8,head_dim=128,in=8192",
            "heads=16,kv_heads=8,head_dim=256,in=3072"}) {
        for (const char* dtype : {"f32", "bf16"}) {
          const std::string words = "capacity=100,rows=" + std::string(rows) + "," + sizes +
                                    ",rmsnorm=true,rotary_halves=true,T=" + std::string(dtype);
          EXPECT_NE(linear_qkv_check().first_of_ladder(words, device), "none") << words;
        }
      }
    }
  }
}

TEST(LinearQkvLadder, MultipliesSeveralRowsOnTheTensorCores) {
  const auto first = [](const std::string& words) {
    return linear_qkv_check().first_of_ladder(words, kH200);
  };
  const std::string rest =
      ",heads=32,kv_heads=8,head_dim=64,in=2048,capacity=99,rmsnorm=true,X=f32";
  for (const char* rows : {"rows=2", "rows=3", "rows=8"}) {
    EXPECT_THAT(first(rows + rest + ",T=bf16"), testing::HasSubstr("mma THREADS=256 TILES=1"));
    EXPECT_THAT(first(rows + rest + ",T=f32"), testing::StartsWith("stream"));
  }
  EXPECT_THAT(first("rows=1" + rest + ",T=bf16"), testing::StartsWith("stream"));
}

}  // namespace
}  // namespace mgtune
