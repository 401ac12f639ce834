// embedding.forward, argmax.forward, sample.forward, layernorm.forward and token_attention.forward
// on the cpu device: variants over edge shapes, by the tuner's own check. And that their ladders
// serve every problem.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/operator_check.h"

namespace mgtune {
namespace {

void expect_ladder_serves(const OperatorCheck& check, const std::vector<std::string>& problems) {
  for (const DeviceLimits& device : {kT4, kA100, kL4, kH200}) {
    for (const std::string& words : problems) {
      EXPECT_NE(check.first_of_ladder(words, device), "none") << words;
    }
  }
}

TEST(EmbeddingForward, EqualsTheReference) {
  OperatorCheck check("embedding.forward");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"flat THREADS=64 VEC=4 PDL=false",
       {"rows=1,columns=4,vocabulary=1,capacity=1,table=true,T=f16,Y=f32",
        "rows=3,columns=516,vocabulary=7,capacity=3,y_stride=520,table=true,T=f16,Y=f32"}},
      {"flat THREADS=64 VEC=1 PDL=false", {"rows=2,columns=131,vocabulary=9,T=bf16"}},
  });
  expect_ladder_serves(check, {"rows=1,columns=2048,vocabulary=9,T=bf16,Y=f32",
                               "rows=8,columns=3,vocabulary=9,capacity=2,table=true,T=f32"});
}

// One block and several, each with parts of a row or none; rows of one element.
TEST(ArgmaxForward, EqualsTheReference) {
  OperatorCheck check("argmax.forward");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"keys BLOCKS=4 THREADS=128 VEC=1 UNROLL=2 PDL=false",
       {"rows=3,columns=1333,x_stride=1340,positions=true,lengths=true,T=f16"}},
      {"keys BLOCKS=32 THREADS=256 VEC=1 UNROLL=1 PDL=false",
       {"rows=2,columns=1,T=f32", "rows=1,columns=300,positions=true,T=f32"}},
      {"keys BLOCKS=1 THREADS=128 VEC=8 UNROLL=4 PDL=false", {"rows=2,columns=5000,T=bf16"}},
  });
  expect_ladder_serves(check, {"rows=1,columns=128256,T=f32", "rows=8,columns=50257,T=f32",
                               "rows=1,columns=1,T=bf16", "rows=1,columns=512,T=f32"});
}

// Every temperature and top-p of the fill, one block and several, blocks and threads without
// columns, rows of one element.
TEST(SampleForward, EqualsTheReference) {
  OperatorCheck check("sample.forward");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"levels BLOCKS=16 THREADS=128 VEC=1 PDL=false",
       {"rows=21,columns=1333,x_stride=1340,positions=true,lengths=true,T=f32",
        "rows=3,columns=1,positions=true,T=f32", "rows=5,columns=130,T=bf16"}},
      {"levels BLOCKS=1 THREADS=256 VEC=4 PDL=false", {"rows=20,columns=2048,lengths=true,T=f16"}},
  });
  expect_ladder_serves(check, {"rows=1,columns=128256,T=f32", "rows=8,columns=50257,T=f32",
                               "rows=1,columns=1,T=bf16", "rows=1,columns=512,T=f32"});
}

TEST(LayernormForward, EqualsTheReference) {
  OperatorCheck check("layernorm.forward");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"row THREADS=64 VEC=8 PDL=false",
       {"rows=2,columns=8,bias=true,T=bf16,W=f32",
        "rows=3,columns=776,x_stride=784,bias=true,T=bf16,W=f32"}},
      {"row THREADS=32 VEC=1 PDL=false", {"rows=2,columns=1,T=f32", "rows=2,columns=77,T=f32"}},
  });
  expect_ladder_serves(check, {"rows=8192,columns=4096,T=bf16", "rows=1,columns=1,T=f32"});
}

// Several chunks of keys with a short last one, a sequence without keys, a window, and NaN behind
// every sequence.
TEST(TokenAttentionForward, EqualsTheReference) {
  OperatorCheck check("token_attention.forward");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"chunks THREADS=128 VEC=4 PDL=false",
       {"rows=3,heads=4,kv_heads=2,head_dim=8,capacity=300,T=f32",
        "rows=1,heads=1,kv_heads=1,head_dim=8,capacity=1,T=f32",
        "rows=4,heads=2,kv_heads=1,head_dim=8,capacity=300,window=130,T=f32"}},
      {"chunks THREADS=128 VEC=1 PDL=false",
       {"rows=2,heads=3,kv_heads=3,head_dim=127,capacity=5,T=bf16"}},
  });
  expect_ladder_serves(check, {"rows=1,heads=12,kv_heads=12,head_dim=64,capacity=1024,T=f32",
                               "rows=1,heads=1,kv_heads=1,head_dim=1,capacity=1,T=bf16",
                               "rows=8,heads=16,kv_heads=8,head_dim=256,capacity=9,T=f16"});
}

// Parts of equal size, a short last one and empty ones; more parts than keys; a window.
TEST(TokenAttentionPartial, EqualsTheReference) {
  OperatorCheck check("token_attention.partial");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"chunks THREADS=128 VEC=4 PDL=false",
       {"rows=3,heads=4,kv_heads=2,head_dim=8,capacity=300,splits=2,T=f32",
        "rows=1,heads=1,kv_heads=1,head_dim=8,capacity=1,splits=4,T=f32",
        "rows=4,heads=2,kv_heads=1,head_dim=8,capacity=300,window=130,splits=7,T=f32"}},
      {"chunks THREADS=128 VEC=1 PDL=false",
       {"rows=2,heads=3,kv_heads=3,head_dim=127,capacity=5,splits=3,T=bf16"}},
  });
  expect_ladder_serves(check,
                       {"rows=1,heads=12,kv_heads=12,head_dim=64,capacity=1024,splits=4,T=f32",
                        "rows=1,heads=1,kv_heads=1,head_dim=1,capacity=1,splits=1,T=bf16",
                        "rows=8,heads=16,kv_heads=8,head_dim=256,capacity=9,splits=256,T=f16"});
}

TEST(TokenAttentionReduce, EqualsTheReference) {
  OperatorCheck check("token_attention.reduce");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"columns THREADS=64 PDL=false",
       {"rows=3,heads=4,splits=5,head_dim=129,Y=f32", "rows=1,heads=1,splits=1,head_dim=1,Y=f16",
        "rows=2,heads=1,splits=256,head_dim=8,Y=bf16"}},
  });
  expect_ladder_serves(check, {"rows=8,heads=12,splits=11,head_dim=64,Y=f32"});
}

TEST(ElementsCopy, EqualsTheReference) {
  OperatorCheck check("elements.copy");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"flat THREADS=64 VEC=4 PDL=false", {"count=516,X=f32,Y=bf16", "count=4,X=f16,Y=f32"}},
      {"flat THREADS=64 VEC=1 PDL=false", {"count=131,X=bf16", "count=1,X=f32"}},
  });
  expect_ladder_serves(check, {"count=1,X=f32", "count=4096,X=bf16,Y=f32"});
}

TEST(ElementsZero, EqualsTheReference) {
  OperatorCheck check("elements.zero");
  check.expect_right(std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"flat THREADS=64 VEC=8 PDL=false", {"count=520,Y=bf16"}},
      {"flat THREADS=64 VEC=1 PDL=false", {"count=131,Y=f32", "count=1,Y=f16"}},
  });
  expect_ladder_serves(check, {"count=1,Y=f32", "count=4096,Y=bf16"});
}

}  // namespace
}  // namespace mgtune
