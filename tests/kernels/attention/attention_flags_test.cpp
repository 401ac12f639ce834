// attention.prefill on the cpu device with a window, capped logits and every head dimension, by the
// tuner's own check; in the long lane, a sample of the whole space.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/kernels/attention_problems.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

TEST(AttentionFlags, WindowsHideWhatIsFar) {
  expect_prefill_right({64, 32, 4, 2, false, false, "mma", "seldom"},
                       {{100, 100, 64}, {40, 150, 64}, {150, 60, 64}},
                       "windowed=true,window=37,causal=true,lse=true,T=bf16");
  expect_prefill_right({64, 32, 4, 2, true, true}, {{100, 130, 64}, {90, 60, 64}},
                       "windowed=true,window=20,T=f16");
}

TEST(AttentionFlags, LogitsMayBeCapped) {
  expect_prefill_right({64, 64, 4, 1, true, false, "mma", "seldom"}, {{30, 90, 64}},
                       "capped=true,causal=true,lse=true,T=bf16");
}

TEST(AttentionFlags, HasEveryHeadDimension) {
  expect_prefill_right({64, 32, 4, 2, true, true}, {{40, 70, 96}}, "causal=true,lse=true,T=f16");
  expect_prefill_right({64, 64, 4, 2}, {{50, 130, 128, 2, 1}}, "causal=true,T=bf16");
  expect_prefill_right({64, 32, 4, 1, false, false, "alu", "seldom", 1}, {{20, 70, 256}},
                       "causal=true,T=bf16");
}

// As in prefill of multi-head latent attention.
TEST(AttentionFlags, ValuesMayBeNarrowerThanKeys) {
  expect_prefill_right({64, 32, 4, 1}, {{40, 70, 192, 2, 1, 2}},
                       "value_dim=128,causal=true,lse=true,T=bf16");
  expect_prefill_right({64, 64, 4, 3, false, true, "mma", "seldom", 1}, {{70, 150, 192}},
                       "value_dim=128,T=f16");
  expect_prefill_right({64, 32, 4, 1}, {{10, 40, 192, 2, 2}},
                       "value_dim=128,q_ss=400,k_ss=392,v_ss=264,v_sh=128,o_ss=280,o_sh=136,T=f16");
}

TEST(AttentionFlags, SampleOfTheSpaceIsRight) {
  if (!in_long_lane(true, false)) GTEST_SKIP() << "in the long lane";
  for (const int head_dim : {64, 96, 128, 192, 256}) {
    const std::string value_dim = head_dim == 192 ? "value_dim=128," : "";
    prefill_check().expect_right(
        {prefill_problem({40, 100, head_dim, 2, 1}, value_dim + "causal=true,lse=true,T=bf16"),
         prefill_problem({70, 40, head_dim}, value_dim + "T=f16"),
         prefill_problem({130, 150, head_dim}, value_dim + "windowed=true,window=30,T=bf16")},
        12);
  }
}

}  // namespace
}  // namespace mgtune
