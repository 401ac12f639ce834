// The attention operators on a real GPU: variants of the whole space give what the fp64 reference
// gives, on shapes that end inside tiles; none spills much; and one that runs again gives the same
// bits.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "tests/helpers/kernels/variants_on_gpu.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

class AttentionOnGpu : public VariantsOnGpu, public testing::WithParamInterface<ProblemOnGpu> {
 protected:
  // The first bytes of the first output after a launch.
  std::vector<unsigned char> output(Checker& checker, const LoadedVariant& variant,
                                    const Operator& op, std::size_t bytes) {
    const std::vector<const LoadedVariant*> variants = {&variant};
    const auto arguments = checker.launch_arguments(variants, 1).value();
    std::vector<unsigned char> memory(bytes);
    EXPECT_TRUE(variant.launch(arguments[0][0]).ok());
    EXPECT_TRUE(device().synchronize(nullptr).ok());
    const auto first = std::ranges::find(op.tensors, Role::out, &Tensor::role);
    const auto tensor = static_cast<std::size_t>(first - op.tensors.begin());
    EXPECT_TRUE(device().copy_to_host(memory.data(), arguments[0][0].tensors[tensor], bytes).ok());
    return memory;
  }
};

// With two tiles of rows per warp, a prefill with a window and a cap spills 144 bytes, and one with
// a head_dim of 192 spills 168. Most spill none.
constexpr std::int64_t kMostSpillBytes = 176;

TEST_P(AttentionOnGpu, VariantsEqualTheReference) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator(GetParam().op).value();
  double worst = 0;
  check_every(in_long_lane<std::size_t>(5, 43), GetParam(), kMostSpillBytes,
              [&](Checker& checker, const LoadedVariant& loaded, const CheckRecord& record) {
                worst = std::max(worst, record.error / record.tolerance);
                const auto once = output(checker, loaded, op, 4096);
                EXPECT_EQ(output(checker, loaded, op, 4096), once) << "other bits in another run";
              });
  std::cout << "errors up to " << worst << " of what is allowed" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, AttentionOnGpu,
    testing::Values(
        ProblemOnGpu{
            "attention.prefill",
            "batch=2,seq_q=1023,seq_k=1024,heads=4,kv_heads=2,head_dim=128,causal=true,lse=true,"
            "T=bf16"},
        ProblemOnGpu{
            "attention.prefill",
            "batch=1,seq_q=799,seq_k=513,heads=4,kv_heads=1,head_dim=64,causal=true,lse=true,"
            "T=f16"},
        ProblemOnGpu{"attention.prefill",
                     "batch=1,seq_q=307,seq_k=256,heads=4,kv_heads=4,head_dim=256,T=bf16"},
        ProblemOnGpu{
            "attention.prefill",
            "batch=1,seq_q=113,seq_k=203,heads=2,kv_heads=2,head_dim=96,windowed=true,window=40,"
            "capped=true,lse=true,T=f16"},
        ProblemOnGpu{"attention.prefill",
                     "batch=1,seq_q=4224,seq_k=4224,heads=2,kv_heads=1,head_dim=128,T=bf16"},
        ProblemOnGpu{
            "attention.prefill",
            "batch=1,seq_q=307,seq_k=513,heads=4,kv_heads=2,head_dim=192,value_dim=128,causal=true,"
            "lse=true,T=bf16"},
        ProblemOnGpu{
            "attention.prefill",
            "batch=3,seq_q=24,seq_k=1000,heads=14,kv_heads=2,head_dim=128,causal=true,lse=true,"
            "T=bf16"},
        ProblemOnGpu{"attention.prefill",
                     "batch=2,seq_q=40,seq_k=700,heads=16,kv_heads=2,head_dim=64,T=f16"},
        ProblemOnGpu{"attention.backward",
                     "batch=2,seq_q=1023,seq_k=1024,heads=4,kv_heads=2,head_dim=128,causal=true,"
                     "T=bf16"},
        ProblemOnGpu{"attention.backward",
                     "batch=1,seq_q=799,seq_k=513,heads=7,kv_heads=1,head_dim=64,causal=true,"
                     "T=f16"},
        ProblemOnGpu{"attention.backward",
                     "batch=1,seq_q=307,seq_k=1000,heads=4,kv_heads=4,head_dim=128,T=f16"},
        ProblemOnGpu{"attention.backward",
                     "batch=3,seq_q=130,seq_k=257,heads=4,kv_heads=1,head_dim=64,T=bf16"},
        ProblemOnGpu{
            "attention.varlen",
            "sequences=37,tokens_q=3000,max_q=700,heads=4,kv_heads=2,head_dim=128,causal=true,"
            "lse=true,T=bf16"},
        ProblemOnGpu{
            "attention.varlen",
            "sequences=9,tokens_q=900,tokens_k=4000,max_q=300,max_k=1500,heads=2,kv_heads=1,"
            "head_dim=64,T=f16"},
        ProblemOnGpu{
            "attention.varlen",
            "sequences=9,tokens_q=200,tokens_k=4000,max_q=40,max_k=1500,heads=8,kv_heads=2,"
            "head_dim=64,causal=true,lse=true,T=bf16"},
        ProblemOnGpu{"attention.varlen",
                     "sequences=9,tokens_q=900,max_q=300,heads=2,kv_heads=1,head_dim=192,"
                     "value_dim=128,causal=true,T=f16"},
        ProblemOnGpu{
            "attention.decode",
            "batch=1,q_len=1,kv_len=1023,heads=32,kv_heads=8,head_dim=128,lse=true,T=bf16"},
        ProblemOnGpu{"attention.decode",
                     "batch=7,q_len=5,kv_len=3000,total_kv=9000,heads=8,kv_heads=2,head_dim=128,"
                     "causal=true,lse=true,T=f16"},
        ProblemOnGpu{
            "attention.decode",
            "batch=9,q_len=1,kv_len=2000,total_kv=7000,heads=16,kv_heads=1,head_dim=64,paged=true,"
            "page_size=16,pages=460,T=bf16"},
        // Runs of several sequences, and parts of sequences.
        ProblemOnGpu{"attention.decode",
                     "batch=90,q_len=1,kv_len=900,total_kv=20000,heads=12,kv_heads=12,"
                     "head_dim=128,lse=true,T=bf16"},
        ProblemOnGpu{
            "attention.decode",
            "batch=3,q_len=1,kv_len=3000,total_kv=5000,heads=128,kv_heads=1,head_dim=128,T=bf16"},
        ProblemOnGpu{
            "attention.decode",
            "batch=2,q_len=16,kv_len=777,heads=4,kv_heads=2,head_dim=256,windowed=true,window=100,"
            "causal=true,T=bf16"}));

}  // namespace
}  // namespace mgtune
