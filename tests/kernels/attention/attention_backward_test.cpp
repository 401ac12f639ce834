// The design mma_sync of attention.backward on the cpu device: variants with every parameter value
// over edge shapes, by the tuner's own check: at most twice the error of the same mathematics in
// low precision, fresh inputs, guard bands, poisoned outputs and strides, threads in any order. And
// where its ladder leads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/attention_problems.h"

namespace mgtune {
namespace {

// One of the passes that walk over tiles: the rows of a block and of a tile, and how they are held.
struct BackwardPass {
  int rows, columns, warps, stages;
  bool in_regs = false;
};

std::string backward_variant(const BackwardPass& dkv, const BackwardPass& dq,
                             int heads_at_once = 1) {
  std::string text = "mma_sync";
  const auto add = [&](const std::string& name, const BackwardPass& pass, const char* rows,
                       const char* columns) {
    const std::string begin = " " + name + "_";
    text += begin + rows + "=" + std::to_string(pass.rows);
    text += begin + columns + "=" + std::to_string(pass.columns);
    text += begin + "WARPS=" + std::to_string(pass.warps);
    text += begin + "STAGES=" + std::to_string(pass.stages);
    text += begin + "IN_REGS=" + (pass.in_regs ? "true" : "false");
  };
  add("DKV", dkv, "KEYS", "QUERIES");
  add("DQ", dq, "QUERIES", "KEYS");
  return text + " HEADS_AT_ONCE=" + std::to_string(heads_at_once);
}

// One key, one query, tails of tiles, whole tiles, more queries than keys and the reverse.
std::vector<PrefillShape> backward_shapes(int head_dim) {
  return {{1, 1, head_dim},    {1, 17, head_dim},   {17, 1, head_dim},
          {17, 64, head_dim},  {64, 64, head_dim},  {64, 17, head_dim},
          {130, 17, head_dim}, {17, 130, head_dim}, {130, 130, head_dim}};
}

TEST(AttentionBackward, EqualsTheReference) {
  expect_backward_right(backward_variant({64, 32, 4, 1}, {64, 32, 4, 1}), backward_shapes(64),
                        "T=bf16");
  expect_backward_right(backward_variant({128, 64, 8, 2}, {128, 64, 8, 2}), backward_shapes(128),
                        "T=f16");
}

// Rows that see nothing, one key, all; the diagonal through every tile.
TEST(AttentionBackward, CausalEndsAtTheLastKey) {
  expect_backward_right(backward_variant({64, 32, 4, 2, true}, {64, 64, 4, 1, true}, 16),
                        backward_shapes(64), "causal=true,T=f16");
  expect_backward_right(backward_variant({64, 32, 4, 1}, {64, 32, 4, 2, true}, 16),
                        backward_shapes(128), "causal=true,T=bf16");
}

TEST(AttentionBackward, WarpsMayHaveTwoRowTiles) {
  expect_backward_right(backward_variant({128, 32, 4, 2}, {128, 64, 4, 2}),
                        {{130, 200, 64}, {33, 17, 64}, {200, 130, 64}}, "causal=true,T=bf16");
  expect_backward_right(backward_variant({128, 32, 8, 2}, {128, 32, 4, 2}),
                        {{130, 200, 128}, {33, 17, 128}}, "T=bf16");
}

// A head of keys gets the sums of 1, 4 or 7 heads of queries.
TEST(AttentionBackward, GroupsShareKeysAndBatchesLieApart) {
  const std::vector<PrefillShape> shapes = {
      {20, 40, 64, 8, 2, 2}, {9, 9, 64, 14, 2, 1}, {70, 33, 64, 3, 3, 2}};
  expect_backward_right(backward_variant({64, 32, 4, 2}, {64, 32, 4, 2}, 16), shapes,
                        "causal=true,T=bf16");
  expect_backward_right(backward_variant({64, 64, 4, 1}, {64, 32, 4, 1}), shapes, "T=f16");
}

TEST(AttentionBackward, StridesMayLeaveGaps) {
  const std::string variant = backward_variant({64, 32, 4, 1}, {64, 32, 4, 1});
  expect_backward_right(variant, {{10, 40, 64, 2, 2, 2}}, kBackwardGaps);
  expect_backward_right(variant, {{10, 40, 64, 2, 2, 1}}, kBackwardHeadsFirst);
}

// Without queries dk and dv are zero, and without keys dq is.
TEST(AttentionBackward, NothingGivesZeros) {
  expect_backward_right(backward_variant({64, 32, 4, 1}, {64, 32, 4, 1}),
                        {{0, 33, 64}, {33, 0, 64}}, "T=bf16");
}

TEST(AttentionBackwardLadder, ServesEveryProblemFromAmpereOn) {
  for (const int head_dim : {64, 128}) {
    for (const char* flags : {"", "causal=true,"}) {
      for (const PrefillShape& shape :
           {PrefillShape{1, 1, head_dim}, PrefillShape{100000, 3, head_dim, 32, 1, 7}}) {
        for (const DeviceLimits& device : {kA100, kL4, kH200}) {
          const std::string words = prefill_problem(shape, std::string(flags) + "T=bf16");
          EXPECT_NE(backward_check().first_of_ladder(words, device), "none") << words;
        }
      }
    }
  }
}

TEST(AttentionBackwardLadder, TakesTheLargestTilesThatFit) {
  const auto is_mma_sync = [](const Variant& variant) {
    return variant_text(backward_check().op(), variant).starts_with("mma_sync");
  };
  const auto first = [&](int head_dim, const DeviceLimits& device, const char* flags = "") {
    return backward_check().first_of_ladder(
        prefill_problem({4096, 4096, head_dim}, std::string(flags) + "T=bf16"), device,
        is_mma_sync);
  };
  EXPECT_EQ(first(64, kH200), backward_variant({128, 32, 4, 2}, {128, 64, 4, 2}));
  EXPECT_EQ(first(128, kH200), backward_variant({128, 64, 8, 2}, {128, 32, 4, 2}));
  EXPECT_EQ(first(128, kH200, "causal=true,"),
            backward_variant({128, 64, 8, 2}, {128, 32, 4, 2}, 16));
  EXPECT_EQ(first(64, kA100), backward_variant({128, 32, 4, 2}, {128, 64, 4, 2}));
  EXPECT_EQ(first(128, kA100), backward_variant({128, 64, 8, 2}, {128, 64, 8, 2}));
  EXPECT_EQ(first(64, kL4), backward_variant({128, 32, 4, 2}, {128, 64, 8, 2}));
  EXPECT_EQ(first(128, kL4), backward_variant({128, 32, 8, 2}, {128, 32, 8, 2}));
}

TEST(AttentionBackwardSpace, StaysWhereASearchCanSeeIt) {
  for (const int head_dim : {64, 128}) {
    for (const char* flags : {"", "causal=true,"}) {
      const auto count = backward_check().count(
          prefill_problem({4096, 4096, head_dim}, std::string(flags) + "T=bf16"), kH200);
      EXPECT_GE(count, 20U) << head_dim << flags;
      EXPECT_LE(count, 1000U) << head_dim << flags;
      RecordProperty(std::string(flags) + std::to_string(head_dim), static_cast<int>(count));
    }
  }
}

}  // namespace
}  // namespace mgtune
