// attention.prefill on the cpu device: variants with every parameter value over edge shapes, by the
// tuner's own check: at most twice the error of the same mathematics in low precision, fresh
// inputs, guard bands, poisoned outputs and strides, threads in any order. And where its ladder
// leads. Windows, caps and head dimensions: attention_flags_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/attention_problems.h"

namespace mgtune {
namespace {

// One key, one query, tails of tiles, whole tiles.
TEST(AttentionPrefill, EqualsTheReference) {
  expect_prefill_right(
      {64, 32, 4, 1}, {{1, 1, 64}, {1, 3, 64}, {2, 1, 64}, {3, 65, 64}, {64, 64, 64}, {70, 40, 64}},
      "lse=true,T=bf16");
}

TEST(AttentionPrefill, WarpsMayHaveTwoRowTiles) {
  expect_prefill_right({128, 64, 4, 2, false, false, "mma", "seldom"},
                       {{130, 200, 64}, {33, 17, 64}}, "T=f16");
}

// Rows that see nothing, one key, all; the diagonal through every tile.
TEST(AttentionPrefill, CausalEndsAtTheLastKey) {
  expect_prefill_right({64, 32, 4, 3}, {{1, 70, 64}, {70, 70, 64}, {40, 100, 64}, {100, 33, 64}},
                       "causal=true,lse=true,T=f16");
}

TEST(AttentionPrefill, ProductsMayOverlapTheSoftmax) {
  expect_prefill_right({64, 32, 4, 2, true, true, "mma", "seldom", 2, 16},
                       {{70, 70, 64}, {1, 33, 64}, {90, 20, 64}}, "causal=true,T=bf16");
  expect_prefill_right({64, 64, 4, 3, false, true, "alu", "always"}, {{65, 300, 64}}, "T=f16");
}

TEST(AttentionPrefill, GroupsShareKeysAndBatchesLieApart) {
  expect_prefill_right({64, 32, 4, 1, false, false, "mma", "seldom", 2, 16},
                       {{20, 40, 64, 6, 2, 2}, {9, 9, 64, 18, 1, 1}},
                       "causal=true,lse=true,T=bf16");
}

TEST(AttentionPrefill, StridesMayLeaveGaps) {
  expect_prefill_right(
      {64, 32, 4, 1}, {{10, 40, 64, 2, 2, 2}},
      "q_sb=2000,q_ss=160,q_sh=72,k_sb=8000,k_ss=184,k_sh=80,v_sb=9600,v_ss=240,v_sh=64,"
      "o_sb=1600,o_ss=136,o_sh=64,T=f16");
  // Heads before rows.
  expect_prefill_right(
      {64, 32, 4, 1}, {{10, 40, 64, 2, 2, 1}},
      "q_ss=64,q_sh=640,k_ss=64,k_sh=2560,v_ss=64,v_sh=2560,o_ss=64,o_sh=640,T=f16");
}

TEST(AttentionPrefillLadder, ServesEveryProblemFromAmpereOn) {
  for (const int head_dim : {64, 96, 128, 192, 256}) {
    const std::string value_dim = head_dim == 192 ? "value_dim=128," : "";
    for (const char* flags : {"", "causal=true,", "windowed=true,window=9,", "capped=true,"}) {
      for (const PrefillShape& shape :
           {PrefillShape{1, 1, head_dim}, PrefillShape{100000, 3, head_dim, 32, 1, 7}}) {
        for (const DeviceLimits& device : {kA100, kL4, kH200}) {
          const std::string words = prefill_problem(shape, value_dim + flags + "T=bf16");
          EXPECT_NE(prefill_check().first_of_ladder(words, device), "none") << words;
        }
      }
    }
  }
}

// What Hopper runs where wgmma cannot serve: a tensor map needs positive strides.
TEST(AttentionPrefillLadder, TakesLargeTilesForManyKeysAndTiles) {
  const auto first = [&](int head_dim, const DeviceLimits& device, const char* flags = "") {
    const std::string words =
        prefill_problem({4096, 4096, head_dim, 32, 8}, std::string(flags) + "q_sb=0,T=bf16");
    return prefill_check().first_of_ladder(words, device);
  };
  const auto rung = [](int block_m, int block_n, int warps, int stages, int blocks) {
    return MmaSync{block_m, block_n, warps, stages, false, false, "alu", "seldom", blocks}.text();
  };
  EXPECT_EQ(first(64, kH200), (MmaSync{128, 64, 4, 3, true, false, "mma", "seldom", 2}.text()));
  EXPECT_EQ(first(96, kH200), (MmaSync{128, 64, 4, 3, true, false, "mma", "seldom", 2}.text()));
  EXPECT_EQ(first(128, kH200), rung(128, 64, 4, 2, 2));
  EXPECT_EQ(first(256, kH200), rung(128, 64, 8, 1, 1));
  EXPECT_EQ(first(128, kA100), rung(128, 64, 4, 1, 2));
  EXPECT_EQ(first(256, kA100), rung(128, 64, 8, 1, 1));
  EXPECT_EQ(first(64, kL4), rung(128, 64, 4, 2, 2));
  EXPECT_EQ(first(128, kH200, "causal=true,"),
            (MmaSync{128, 64, 4, 2, false, false, "alu", "seldom", 2, 16}.text()));
  EXPECT_EQ(first(128, kL4), rung(128, 32, 4, 1, 2));
  EXPECT_EQ(first(256, kL4), rung(64, 32, 4, 1, 1));
}

// At head_dim 256, 16 variants of wgmma are within 1.25 times of the best rung's estimate; those of
// mma_sync are not.
TEST(AttentionPrefillSpace, StaysWhereASearchCanSeeIt) {
  for (const int head_dim : {64, 96, 128, 192, 256}) {
    const std::string value_dim = head_dim == 192 ? "value_dim=128," : "";
    for (const char* flags : {"", "causal=true,"}) {
      const auto count = prefill_check().count(
          prefill_problem({4096, 4096, head_dim}, value_dim + flags + "T=bf16"), kH200);
      EXPECT_GE(count, 16U) << head_dim << flags;
      EXPECT_LE(count, 1000U) << head_dim << flags;
      RecordProperty(std::string(flags) + std::to_string(head_dim), static_cast<int>(count));
    }
  }
}

}  // namespace
}  // namespace mgtune
