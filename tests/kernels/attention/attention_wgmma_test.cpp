// The design wgmma of attention.prefill and attention.varlen, on the cpu device with the limits of
// Hopper: every parameter, flag and head dimension over edge shapes, by the tuner's own check
// (attention_prefill_test.cpp says what that is). shipped_kernels_nvrtc_test.cpp compiles it for a
// GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/attention_problems.h"

namespace mgtune {
namespace {

struct Wgmma {
  int consumers, block_n, stages = 2;
  bool pingpong = false;
  const char* schedule = "grid";
  int heads_at_once = 1, q_stages = 1, exp_poly = 0;
  bool pack_gqa = false;

  std::string text() const {
    return "wgmma CONSUMERS=" + std::to_string(consumers) + " BLOCK_N=" + std::to_string(block_n) +
           " STAGES=" + std::to_string(stages) + " Q_STAGES=" + std::to_string(q_stages) +
           " PINGPONG=" + (pingpong ? "true" : "false") + " SCHEDULE=" + schedule +
           " HEADS_AT_ONCE=" + std::to_string(heads_at_once) +
           " EXP_POLY=" + std::to_string(exp_poly) + " PACK_GQA=" + (pack_gqa ? "true" : "false");
  }
};

// One for all tests of an operator: it keeps what it builds. Its device says 9.0.
OperatorCheck& hopper_check(const char* op) {
  const Variable capability("MGTUNE_CPU_COMPUTE_CAPABILITY", "90");
  static OperatorCheck prefill("attention.prefill"), varlen("attention.varlen");
  return std::string(op) == "attention.prefill" ? prefill : varlen;
}

void expect_right(const Wgmma& variant, const std::vector<PrefillShape>& shapes,
                  const std::string& more) {
  hopper_check("attention.prefill")
      .expect_right({{variant.text(), prefill_problems(shapes, more)}});
}

// One key, one query, tails of tiles, whole tiles.
TEST(AttentionWgmma, EqualsTheReference) {
  expect_right({1, 64}, {{1, 1, 64}, {1, 3, 64}, {2, 1, 64}, {65, 64, 64}, {70, 150, 64}},
               "lse=true,T=bf16");
}

TEST(AttentionWgmma, ConsumersTakeTurnsOverManyTiles) {
  expect_right({2, 64, 2, true, "dynamic"}, {{130, 400, 64, 3}, {90, 70, 64}}, "lse=true,T=f16");
  expect_right({3, 80, 3, true, "dynamic", 1, 2}, {{200, 300, 64, 5}}, "T=bf16");
}

// Rows that see nothing, one key, all; the diagonal through every tile. More blocks than SMs.
TEST(AttentionWgmma, CausalEndsAtTheLastKey) {
  expect_right({2, 64, 2, false, "dynamic", 16, 2},
               {{70, 80, 64}, {140, 140, 64, 6, 2, 2}, {300, 100, 64}, {100, 230, 64}},
               "causal=true,lse=true,T=bf16");
}

TEST(AttentionWgmma, WindowsAndCaps) {
  expect_right({1, 64}, {{100, 260, 64}, {150, 90, 64}}, "windowed=true,window=70,T=f16");
  expect_right({1, 64, 3, false, "dynamic", 1, 2}, {{100, 260, 64}},
               "causal=true,windowed=true,window=33,capped=true,lse=true,T=bf16");
}

TEST(AttentionWgmma, EveryHeadDimension) {
  expect_right({1, 64}, {{70, 130, 96, 2}}, "causal=true,T=bf16");
  expect_right({2, 96}, {{130, 200, 128}}, "T=bf16");
  expect_right({1, 80}, {{65, 170, 256}}, "lse=true,T=f16");
}

// Tails, rows that see nothing, and a maximum that rises from tile to tile.
TEST(AttentionWgmma, ExponentialsMayBePolynomials) {
  const auto variant = [](int consumers, int block_n, int exp_poly) {
    return Wgmma{consumers, block_n, 2, true, "dynamic", 16, 2, exp_poly};
  };
  expect_right(variant(2, 128, 2), {{70, 80, 64}, {140, 230, 64, 2}, {300, 100, 64}},
               "causal=true,lse=true,T=f16");
  expect_right(variant(2, 96, 1), {{90, 170, 96, 2}}, "lse=true,T=bf16");
  expect_right(variant(2, 96, 2), {{130, 200, 128}},
               "causal=true,windowed=true,window=33,capped=true,lse=true,T=f16");
  hopper_check("attention.varlen")
      .expect_right({{variant(3, 96, 2).text(),
                      {"sequences=5,tokens_q=400,max_q=300,heads=2,kv_heads=1,head_dim=64,"
                       "lse=true,T=bf16"}}});
}

Wgmma packed(int consumers, int block_n, const char* schedule = "grid", bool pingpong = false) {
  Wgmma variant{consumers, block_n, 2, pingpong, schedule};
  variant.pack_gqa = true;
  return variant;
}

// Groups of 4, 7 and 8 heads: tiles that are full, have rows to spare, and end in the middle of a
// query of a warpgroup. The last tile has fewer queries than fit.
TEST(AttentionWgmma, TilesMayPackTheHeadsOfAGroup) {
  expect_right(packed(1, 64), {{1, 70, 64, 4}, {16, 130, 64, 8, 2, 2}, {37, 75, 64, 4, 1, 2}},
               "lse=true,T=bf16");
  expect_right(packed(1, 80), {{9, 100, 96, 7}, {23, 90, 96, 14, 2, 2}}, "lse=true,T=f16");
  expect_right(packed(2, 64, "dynamic", true), {{16, 140, 128, 8}, {21, 70, 128, 8, 1, 3}},
               "lse=true,T=bf16");
}

// The mask follows the query of a row, not the row.
TEST(AttentionWgmma, PackedHeadsSeeWhatTheirQuerySees) {
  expect_right(packed(1, 64), {{16, 16, 64, 4}, {17, 90, 64, 8, 2}, {30, 7, 64, 7}},
               "causal=true,lse=true,T=bf16");
  expect_right(packed(3, 64, "dynamic", true), {{27, 150, 64, 7}, {40, 200, 64, 8, 1, 2}},
               "causal=true,lse=true,T=f16");
  expect_right(packed(2, 64), {{20, 190, 64, 7, 1, 2}}, "windowed=true,window=33,T=bf16");
  // The window of query 0 begins with a tile; those of the others begin within it.
  expect_right(packed(1, 64), {{8, 200, 64, 8}}, "causal=true,windowed=true,window=128,T=bf16");
  expect_right(packed(2, 64), {{20, 190, 64, 8}},
               "causal=true,windowed=true,window=60,capped=true,lse=true,T=f16");
}

TEST(AttentionWgmma, PackedHeadsMayHaveAnyStrides) {
  expect_right(packed(1, 64), {{10, 140, 64, 4, 2, 2}},
               "q_sb=4000,q_ss=320,q_sh=72,k_sb=32000,k_ss=184,k_sh=80,v_sb=39600,v_ss=240,v_sh=64,"
               "o_sb=64,o_ss=136,o_sh=1600,lse=true,T=f16");
  hopper_check("attention.varlen")
      .expect_right({{packed(1, 64).text(),
                      {"sequences=4,tokens_q=57,max_q=20,heads=8,kv_heads=2,head_dim=64,"
                       "causal=true,lse=true,T=bf16"}},
                     {packed(2, 80, "dynamic").text(),
                      {"sequences=3,tokens_q=60,tokens_k=300,max_q=30,max_k=200,heads=7,kv_heads=1,"
                       "head_dim=64,lse=true,T=bf16"}}});
}

TEST(AttentionWgmma, ValuesMayBeNarrowerThanKeys) {
  expect_right({2, 96, 2, true, "dynamic", 16}, {{130, 200, 192, 2}},
               "value_dim=128,causal=true,lse=true,T=bf16");
  hopper_check("attention.varlen")
      .expect_right({{Wgmma{1, 64}.text(),
                      {"sequences=3,tokens_q=100,max_q=60,heads=1,kv_heads=1,head_dim=192,"
                       "value_dim=128,T=f16"}}});
  EXPECT_THAT(prefill_check().first_of_ladder(
                  prefill_problem({4096, 4096, 192, 16, 16}, "value_dim=128,T=bf16"), kH200),
              ::testing::HasSubstr("wgmma CONSUMERS=2 BLOCK_N=128"));
}

TEST(AttentionWgmma, StridesMayLeaveGaps) {
  expect_right({1, 64}, {{10, 140, 64, 2, 2, 2}},
               "q_sb=2000,q_ss=160,q_sh=72,k_sb=32000,k_ss=184,k_sh=80,v_sb=39600,v_ss=240,v_sh=64,"
               "o_sb=1600,o_ss=136,o_sh=64,T=f16");
}

// Sequences of a packed batch border on each other: their keys must not meet.
TEST(AttentionWgmma, PackedSequencesDoNotMeet) {
  const auto problem = [](const char* sizes, const char* flags) {
    return std::string(sizes) + ",heads=2,kv_heads=1,head_dim=64,lse=true,T=bf16," + flags;
  };
  hopper_check("attention.varlen")
      .expect_right(
          {{Wgmma{1, 64}.text(),
            {problem("sequences=4,tokens_q=57,max_q=40", "causal=true"),
             problem("sequences=3,tokens_q=200,tokens_k=300,max_q=130,max_k=200", "causal=false")}},
           {Wgmma{2, 80, 2, true, "dynamic", 16}.text(),
            {problem("sequences=5,tokens_q=400,max_q=300", "causal=true"),
             problem("sequences=2,tokens_q=100,max_q=90", "causal=true,windowed=true,window=9")}}});
}

// 32 queries of 4 heads fill a tile of 128 rows. Packed, 64 sequences need 4 waves instead of 16;
// two sequences need one wave either way.
TEST(AttentionWgmma, TheLadderPacksWhereThatSavesWaves) {
  const auto first = [](int batch, int seq_q) {
    const std::string words = "batch=" + std::to_string(batch) + ",seq_q=" + std::to_string(seq_q) +
                              ",seq_k=8192,heads=32,kv_heads=8,head_dim=128,causal=true,T=bf16";
    return prefill_check().first_of_ladder(words, kH200);
  };
  EXPECT_THAT(first(64, 32), ::testing::EndsWith("PACK_GQA=true"));
  EXPECT_THAT(first(2, 32), ::testing::EndsWith("PACK_GQA=false"));
  EXPECT_THAT(first(64, 1024), ::testing::EndsWith("PACK_GQA=false"));
}

// How many tiles there are for 132 SMs says how large they should be. The problems are from a sweep
// on an H200 (results/h200/untuned.md).
TEST(AttentionWgmma, TheLadderHasTilesForAllSms) {
  const auto first = [](const PrefillShape& shape, const std::string& flags = "") {
    return prefill_check().first_of_ladder(prefill_problem(shape, flags + "T=bf16"), kH200);
  };
  EXPECT_THAT(first({859, 2962, 64, 8, 8}), ::testing::HasSubstr("CONSUMERS=1 BLOCK_N=128"));
  EXPECT_THAT(first({4096, 4096, 64, 32, 8}), ::testing::HasSubstr("CONSUMERS=3 BLOCK_N=128"));
  EXPECT_THAT(first({307, 3051, 64, 26, 13, 4}, "causal=true,"),
              ::testing::HasSubstr("CONSUMERS=1 BLOCK_N=80 STAGES=2 Q_STAGES=1 PINGPONG=false "
                                   "SCHEDULE=grid"))
      << "two blocks on each SM";
  EXPECT_THAT(first({246, 3420, 128, 24, 12}), ::testing::HasSubstr("CONSUMERS=1 BLOCK_N=112"));
  EXPECT_THAT(first({275, 3283, 128, 21, 21, 3}), ::testing::HasSubstr("CONSUMERS=3 BLOCK_N=80"));
  EXPECT_THAT(first({4096, 4096, 128, 32, 8}), ::testing::HasSubstr("CONSUMERS=3 BLOCK_N=80"));
  EXPECT_THAT(first({4096, 4096, 256, 8, 8}), ::testing::HasSubstr("CONSUMERS=2 BLOCK_N=80"));
  EXPECT_THAT(first({1, 1, 128, 1, 1}), ::testing::HasSubstr("CONSUMERS=1"));
}

// A causal tile may see few keys, of which a wide tile computes most for nothing. 1,428 queries and
// 150 keys take 15.0 us in tiles of 80 keys, and 17.5 us in tiles of 128.
TEST(AttentionWgmma, TheLadderHasNarrowTilesForFewCausalKeys) {
  const auto first = [](const PrefillShape& shape) {
    return prefill_check().first_of_ladder(prefill_problem(shape, "causal=true,T=bf16"), kH200);
  };
  EXPECT_THAT(first({1428, 150, 128, 30, 15, 2}), ::testing::HasSubstr("CONSUMERS=2 BLOCK_N=80"));
  EXPECT_THAT(first({825, 475, 128, 30, 30, 2}), ::testing::HasSubstr("CONSUMERS=2 BLOCK_N=80"));
  EXPECT_THAT(first({2048, 2048, 128, 16, 16, 8}), ::testing::HasSubstr("CONSUMERS=2 BLOCK_N=128"));
}

// With 512 queries and keys, the diagonal ends a tile of 128 queries at a whole step of 128 keys,
// so no step is computed for a part of its keys. In steps of 112 keys, 32 sequences took 114 us
// instead of 94 us. With 500 more keys than queries nothing is whole.
TEST(AttentionWgmma, TheLadderHasStepsThatEndAtTheDiagonal) {
  const auto first = [](const PrefillShape& shape) {
    return prefill_check().first_of_ladder(prefill_problem(shape, "causal=true,T=bf16"), kH200);
  };
  const auto whole = ::testing::HasSubstr("CONSUMERS=2 BLOCK_N=128");
  for (const int tokens : {512, 1024}) {
    EXPECT_THAT(first({tokens, tokens, 128, 32, 8, 16384 / tokens}), whole) << tokens;
    EXPECT_THAT(first({tokens, tokens, 64, 32, 8, 16384 / tokens}), whole) << tokens;
  }
  EXPECT_THAT(first({512, 1012, 64, 32, 8, 32}), ::testing::Not(whole));
}

// The ladder knows the number of sequences, their mean length and the longest one. Two sequences
// with 86 tokens in all ran with two consumers for 7.4 us, and take 5.3 us with one.
TEST(AttentionWgmma, TheLadderOfVarlenHasTilesForAllSms) {
  const auto first = [](const char* sizes, const char* heads) {
    return hopper_check("attention.varlen")
        .first_of_ladder(std::string(sizes) + "," + heads + ",T=bf16", kH200);
  };
  const char* const causal = "heads=28,kv_heads=4,head_dim=128,causal=true";
  EXPECT_THAT(first("sequences=2,tokens_q=86,max_q=76", causal),
              ::testing::HasSubstr("CONSUMERS=1 BLOCK_N=80"));
  EXPECT_THAT(first("sequences=8,tokens_q=16384,max_q=2048", causal),
              ::testing::HasSubstr("CONSUMERS=2 BLOCK_N=128"));
  EXPECT_THAT(first("sequences=2,tokens_q=738,max_q=424", "heads=24,kv_heads=8,head_dim=128"),
              ::testing::HasSubstr("CONSUMERS=3 BLOCK_N=80"));
  EXPECT_THAT(
      first("sequences=1,tokens_q=3189,max_q=3189", "heads=16,kv_heads=16,head_dim=64,causal=true"),
      ::testing::HasSubstr("CONSUMERS=3 BLOCK_N=128"));
  EXPECT_THAT(first("sequences=9,tokens_q=900,max_q=100", "heads=8,kv_heads=8,head_dim=256"),
              ::testing::HasSubstr("CONSUMERS=2 BLOCK_N=64"))
      << "one wave of blocks";
}

TEST(AttentionWgmma, RunsOnHopperAlone) {
  const std::string words = prefill_problem({4096, 4096, 128, 16, 16}, "T=bf16");
  const auto is_wgmma = [](const Variant& variant) {
    return variant_text(prefill_check().op(), variant).starts_with("wgmma");
  };
  EXPECT_NE(prefill_check().first_of_ladder(words, kH200, is_wgmma), "none");
  EXPECT_EQ(prefill_check().first_of_ladder(words, kA100, is_wgmma), "none");
  EXPECT_EQ(prefill_check().first_of_ladder(words, kL4, is_wgmma), "none");
}

}  // namespace
}  // namespace mgtune
