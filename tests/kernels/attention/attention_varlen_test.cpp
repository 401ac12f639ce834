// attention.varlen on the cpu device: packed sequences, empty ones among them, by the tuner's own
// check; and sequences written out by hand, against the reference, with NaN behind the last token.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/attention_problems.h"
#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/operator_check.h"
#include "tests/helpers/kernels/reference_problems.h"

namespace mgtune {
namespace {

TEST(AttentionVarlen, EqualsTheReference) {
  OperatorCheck check("attention.varlen");
  const std::string heads = ",heads=2,kv_heads=1,head_dim=64,";
  check.expect_right(
      {{MmaSync{64, 32, 4, 1}.text(),
        {"sequences=1,tokens_q=1,max_q=1" + heads + "causal=true,lse=true,T=f16",
         "sequences=7,tokens_q=90,max_q=70" + heads + "causal=true,lse=true,T=f16",
         "sequences=3,tokens_q=40,tokens_k=150,max_q=30,max_k=90" + heads +
             "causal=true,lse=true,T=f16"}},
       {MmaSync{64, 64, 4, 2, true, true, "mma", "seldom"}.text(),
        {"sequences=5,tokens_q=60,tokens_k=333,max_q=33,max_k=200,q_ss=136,q_sh=72,k_ss=72" +
         heads + "T=bf16"}}});
}

TEST(AttentionVarlen, ValuesMayBeNarrowerThanKeys) {
  OperatorCheck("attention.varlen")
      .expect_right({{MmaSync{64, 32, 4, 1}.text(),
                      {"sequences=3,tokens_q=60,max_q=40,heads=2,kv_heads=1,head_dim=192,"
                       "value_dim=128,causal=true,lse=true,T=bf16"}}});
}

// Four sequences: one without queries, one without keys, one token, more queries than keys.
TEST(AttentionVarlen, EverySequenceSeesItsOwnKeysAlone) {
  constexpr int kSequences = 4, kHeads = 2, kHeadDim = 64, kTokensQ = 76, kTokensK = 46;
  const std::vector<double> q_starts = {0, 0, 5, 6, kTokensQ};
  const std::vector<double> k_starts = {0, 5, 5, 6, kTokensK};
  const std::string kernel =
      "attention_varlen<__nv_bfloat16, 64, 64, 64, 32, 4, 2, false, false, ROW_SUM::alu, "
      "RESCALE::seldom, 2, 16, true, false, false, true>";
  const auto module = CpuModule::build("kernels/attention", "prefill.cu", {kernel});
  ASSERT_TRUE(module.ok()) << module.status().message();
  const std::string exact = "attention_varlen_reference<__nv_bfloat16, Problem>";
  const auto reference =
      CpuModule::build_reference("kernels/attention", kVarlenReferenceProblemText, {exact});
  ASSERT_TRUE(reference.ok()) << reference.status().message();

  // NaN in what follows the last token, which a tile's last rows reach.
  const auto values = [](int rows, int heads, int phase) {
    std::vector<double> all;
    for (int i = 0; i < rows * heads * kHeadDim; ++i) all.push_back(std::sin(i * 0.7 + phase));
    all.resize(all.size() + 64UL * heads * kHeadDim, NAN);
    return all;
  };
  const auto tensors = [&](Device& device) {
    std::vector<DeviceTensor> all;
    all.push_back(DeviceTensor::upload(device, DType::bf16, values(kTokensQ, kHeads, 1)).value());
    all.push_back(DeviceTensor::upload(device, DType::bf16, values(kTokensK, 1, 2)).value());
    all.push_back(DeviceTensor::upload(device, DType::bf16, values(kTokensK, 1, 3)).value());
    all.push_back(DeviceTensor::upload(device, DType::i32, q_starts).value());
    all.push_back(DeviceTensor::upload(device, DType::i32, k_starts).value());
    return all;
  };
  const auto in = tensors(module->device()), in_again = tensors(reference->device());
  const std::size_t elements = std::size_t{kTokensQ} * kHeads * kHeadDim;
  const std::size_t rows = std::size_t{kTokensQ} * kHeads;
  const auto o = DeviceTensor::poisoned(module->device(), DType::bf16, elements).value();
  const auto lse = DeviceTensor::poisoned(module->device(), DType::f32, rows).value();
  const float scale = 0.25F, softcap = 1;
  const std::int32_t window = 0;
  const std::int64_t q_ss = kHeads * kHeadDim, k_ss = kHeadDim, sh = kHeadDim;
  const std::int32_t max_q = 70;
  ASSERT_TRUE(
      module
          ->launch_with_shared(kernel, 2 * kSequences * kHeads, 128, (64 + 4 * 32) * kHeadDim * 2,
                               in[0].data(), in[1].data(), in[2].data(), in[3].data(), in[4].data(),
                               o.data(), lse.data(), scale, softcap, std::int32_t{kSequences},
                               std::int32_t{kTokensQ}, max_q, std::int32_t{kHeads}, std::int32_t{1},
                               window, q_ss, sh, k_ss, sh, k_ss, sh, q_ss, sh)
          .ok());
  const auto exact_o = DeviceTensor::poisoned(reference->device(), DType::f64, elements).value();
  const auto exact_lse = DeviceTensor::poisoned(reference->device(), DType::f64, rows).value();
  const VarlenReferenceProblem problem{.sequences = kSequences,
                                       .tokens_q = kTokensQ,
                                       .heads = kHeads,
                                       .kv_heads = 1,
                                       .head_dim = kHeadDim,
                                       .value_dim = kHeadDim,
                                       .q_ss = q_ss,
                                       .q_sh = sh,
                                       .k_ss = k_ss,
                                       .k_sh = sh,
                                       .v_ss = k_ss,
                                       .v_sh = sh,
                                       .scale = scale,
                                       .softcap = softcap,
                                       .causal = true};
  ASSERT_TRUE(reference
                  ->launch(exact, 4, 32, in_again[0].data(), in_again[1].data(), in_again[2].data(),
                           in_again[3].data(), in_again[4].data(), exact_o.data(), exact_lse.data(),
                           problem)
                  .ok());
  const auto out = o.download().value(), expected = exact_o.download().value();
  for (std::size_t i = 0; i < elements; ++i) ASSERT_NEAR(out[i], expected[i], 4e-3) << i;
  const auto sums = lse.download().value(), exact_sums = exact_lse.download().value();
  int empty = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (std::isinf(exact_sums[i])) {
      ++empty;
      EXPECT_EQ(sums[i], -INFINITY) << i;
      const std::size_t token = i % kTokensQ, head = i / kTokensQ;
      for (std::size_t d = 0; d < kHeadDim; ++d) {
        EXPECT_EQ(out[(token * kHeads + head) * kHeadDim + d], 0.0);
      }
    } else {
      EXPECT_NEAR(sums[i], exact_sums[i], 1e-5 * (1 + std::abs(exact_sums[i]))) << i;
    }
  }
  EXPECT_EQ(empty, 2 * (5 + 70 - 40));
}

TEST(AttentionVarlenLadder, ServesEveryHeadDimension) {
  const OperatorCheck check("attention.varlen");
  for (const char* dims : {"64", "96", "128", "192,value_dim=128", "256"}) {
    for (const DeviceLimits& device : {kA100, kL4, kH200}) {
      EXPECT_NE(check.first_of_ladder(std::string("sequences=9,tokens_q=4000,max_q=1000,heads=4,"
                                                  "kv_heads=2,causal=true,T=bf16,head_dim=") +
                                          dims,
                                      device),
                "none")
          << dims;
    }
  }
}

// One long sequence is the last to end, and its tiles take longer if they are packed. Wide packed
// tiles are for sequences of similar lengths alone.
TEST(AttentionVarlenLadder, PacksShortQueriesUnlessOneSequenceIsFarLonger) {
  const OperatorCheck check("attention.varlen");
  const auto first = [&](const std::string& sizes) {
    return check.first_of_ladder(
        sizes + ",max_q=32,heads=32,kv_heads=8,head_dim=128,causal=true,T=bf16", kH200);
  };
  const std::string similar = first("sequences=64,tokens_q=2000,tokens_k=32000,max_k=1000");
  EXPECT_THAT(similar, ::testing::EndsWith("PACK_GQA=true"));
  EXPECT_THAT(similar, ::testing::HasSubstr("BLOCK_N=112"));
  const std::string less_similar = first("sequences=64,tokens_q=2000,tokens_k=31999,max_k=1000");
  EXPECT_THAT(less_similar, ::testing::EndsWith("PACK_GQA=true"));
  EXPECT_THAT(less_similar, ::testing::HasSubstr("BLOCK_N=64"));
  EXPECT_THAT(first("sequences=8,tokens_q=200,tokens_k=10000,max_k=8000"),
              ::testing::EndsWith("PACK_GQA=false"));
}

// Five sequences with 505 tokens in all take 9.9 us in small packed tiles, and took 14.2 us in
// tiles of 128 queries and keys. Ten with 434 tokens and heads of 64 take 7.0 us in tiles of
// mma.sync, and 9.2 us in the fastest tiles of wgmma.
TEST(AttentionVarlenLadder, HasTilesForManyShortSequences) {
  const OperatorCheck check("attention.varlen");
  EXPECT_THAT(check.first_of_ladder("sequences=5,tokens_q=505,max_q=148,heads=28,kv_heads=4,"
                                    "head_dim=128,T=bf16",
                                    kH200),
              ::testing::EndsWith("PACK_GQA=true"));
  EXPECT_THAT(check.first_of_ladder("sequences=10,tokens_q=434,max_q=105,heads=32,kv_heads=8,"
                                    "head_dim=64,causal=true,T=bf16",
                                    kH200),
              ::testing::StartsWith("mma_sync BLOCK_M=64 BLOCK_N=32"));
}

}  // namespace
}  // namespace mgtune
