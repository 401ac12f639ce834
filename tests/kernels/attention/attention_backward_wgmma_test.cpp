// The design wgmma of attention.backward, on the cpu device with the limits of Hopper: every
// parameter value over edge shapes, by the tuner's own check (attention_backward_test.cpp says what
// that is). attention_backward_numerics_test.cpp has NaN next to what is read, large logits and the
// same bits again. shipped_kernels_nvrtc_test.cpp compiles it for a GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/attention_problems.h"

namespace mgtune {
namespace {

struct BackwardWgmmaPass {
  int consumers, columns;
};

std::string backward_wgmma(const BackwardWgmmaPass& dkv, const BackwardWgmmaPass& dq,
                           int stages = 2, const char* schedule = "dynamic",
                           int heads_at_once = 1) {
  return "wgmma DKV_CONSUMERS=" + std::to_string(dkv.consumers) +
         " DKV_QUERIES=" + std::to_string(dkv.columns) +
         " DQ_CONSUMERS=" + std::to_string(dq.consumers) +
         " DQ_KEYS=" + std::to_string(dq.columns) + " STAGES=" + std::to_string(stages) +
         " SCHEDULE=" + schedule + " HEADS_AT_ONCE=" + std::to_string(heads_at_once);
}

// One key, one query, tails of tiles, whole tiles, more queries than keys and the reverse.
TEST(AttentionBackwardWgmma, EqualsTheReference) {
  expect_backward_right(backward_wgmma({2, 64}, {2, 64}),
                        {{1, 1, 64}, {1, 17, 64}, {17, 1, 64}, {64, 64, 64}, {130, 150, 64}},
                        "T=bf16");
  expect_backward_right(backward_wgmma({2, 64}, {2, 96}, 3, "grid"), {{1, 3, 128}, {70, 130, 128}},
                        "T=f16");
}

// Rows that see nothing, one key, all; the diagonal through every tile.
TEST(AttentionBackwardWgmma, CausalEndsAtTheLastKey) {
  expect_backward_right(
      backward_wgmma({2, 64}, {2, 64}, 2, "dynamic", 16),
      {{1, 1, 64}, {17, 64, 64}, {64, 17, 64}, {130, 130, 64}, {200, 70, 64}, {70, 200, 64}},
      "causal=true,T=f16");
  expect_backward_right(backward_wgmma({2, 48}, {3, 48}, 3, "grid", 16), {{140, 140, 128}},
                        "causal=true,T=bf16");
}

// The first of three warpgroups of queries passes over its last two tiles, and the last of three
// warpgroups of keys over the first two of each head: as many as there are slots.
TEST(AttentionBackwardWgmma, ThreeConsumersAndEveryTile) {
  expect_backward_right(backward_wgmma({3, 48}, {3, 80}), {{200, 200, 64, 2, 1}},
                        "causal=true,T=bf16");
  expect_backward_right(backward_wgmma({3, 48}, {2, 80}, 3, "grid"), {{70, 230, 64}}, "T=f16");
  expect_backward_right(backward_wgmma({2, 96}, {2, 128}), {{130, 150, 64}}, "T=bf16");
}

// A head of keys gets the sums of 1, 4 or 7 heads of queries. More jobs than SMs.
TEST(AttentionBackwardWgmma, GroupsShareKeysAndBatchesLieApart) {
  const std::vector<PrefillShape> shapes = {
      {20, 40, 64, 8, 2, 2}, {9, 9, 64, 14, 2, 1}, {70, 33, 64, 3, 3, 2}};
  expect_backward_right(backward_wgmma({2, 64}, {2, 64}, 2, "dynamic", 16), shapes,
                        "causal=true,T=bf16");
  expect_backward_right(backward_wgmma({2, 64}, {2, 64}, 2, "grid"), shapes, "T=f16");
}

TEST(AttentionBackwardWgmma, StridesMayLeaveGaps) {
  const std::string variant = backward_wgmma({2, 64}, {2, 64});
  expect_backward_right(variant, {{10, 40, 64, 2, 2, 2}}, kBackwardGaps);
  expect_backward_right(variant, {{10, 40, 64, 2, 2, 1}}, kBackwardHeadsFirst);
}

TEST(AttentionBackwardWgmma, RunsOnHopperAloneAndThereByDefault) {
  const std::string words = prefill_problem({4096, 4096, 128}, "causal=true,T=bf16");
  EXPECT_EQ(backward_check().first_of_ladder(words, kH200),
            backward_wgmma({2, 64}, {2, 96}, 3, "dynamic", 16));
  EXPECT_THAT(backward_check().first_of_ladder(words, kA100), ::testing::StartsWith("mma_sync"));
  EXPECT_THAT(backward_check().first_of_ladder(words, kL4), ::testing::StartsWith("mma_sync"));
}

}  // namespace
}  // namespace mgtune
