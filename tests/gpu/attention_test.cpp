// The attention operators on a real GPU: variants of the whole space give what the fp64 reference
// gives, on shapes that end inside tiles; none spills much; and one that runs again gives the same
// bits.

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "build/build_cache.h"
#include "build/builder.h"
#include "check/checker.h"
#include "family/catalog.h"
#include "launch/loaded_variant.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/real_gpu.h"

namespace mgtune {
namespace {

struct Case {
  const char* op;
  const char* problem;
};

class AttentionOnGpu : public RealGpuTest, public testing::WithParamInterface<Case> {
 protected:
  // The bytes of the first output after a launch.
  std::vector<unsigned char> output(Checker& checker, const LoadedVariant& variant,
                                    std::size_t bytes) {
    const std::vector<const LoadedVariant*> variants = {&variant};
    const auto arguments = checker.launch_arguments(variants, 1).value();
    std::vector<unsigned char> memory(bytes);
    EXPECT_TRUE(variant.launch(arguments[0][0]).ok());
    EXPECT_TRUE(device().synchronize(nullptr).ok());
    for (std::size_t i = 0; i < variant_outputs_.size(); ++i) {
      if (variant_outputs_[i]) {
        EXPECT_TRUE(device().copy_to_host(memory.data(), arguments[0][0].tensors[i], bytes).ok());
        break;
      }
    }
    return memory;
  }

  std::vector<bool> variant_outputs_;  // per tensor
};

TEST_P(AttentionOnGpu, VariantsEqualTheReference) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator(GetParam().op).value();
  for (const Tensor& tensor : op.tensors) variant_outputs_.push_back(tensor.role == Role::out);
  const Problem problem = bind_problem(op, parse_assignments(GetParam().problem).value()).value();
  Builder builder(BuildCache(FileSystem::real(), BuildCache::default_directory()));
  const auto checker = Checker::make(device(), builder, problem);
  ASSERT_TRUE(checker.ok()) << checker.status().message();
  const DeviceLimits& limits = device().info().limits;
  const std::vector<Variant> variants = Space(problem, limits).all();
  ASSERT_FALSE(variants.empty());
  const std::size_t step = in_long_lane<std::size_t>(5, 43);
  double worst = 0;
  for (std::size_t v = 0; v < variants.size(); v += step) {
    SCOPED_TRACE(variant_text(op, variants[v]));
    const Slots slots = compile_slots(problem.binding(), variants[v], limits).value();
    const auto request = variant_build_request(op, variants[v], slots, device().info().arch);
    ASSERT_TRUE(request.ok()) << request.status().message();
    const auto build = builder.build(*request);
    ASSERT_TRUE(build.ok()) << build.status().message();
    for (const BuildKernel& kernel : build->kernels) EXPECT_LE(kernel.spill_bytes, 128);
    const auto loaded = LoadedVariant::load(device(), problem.binding(), variants[v], *build);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const auto record = (*checker)->check(**loaded);
    ASSERT_TRUE(record.ok()) << record.status().message();
    EXPECT_EQ(record->outcome, Outcome::ok) << record->message;
    worst = std::max(worst, record->error / record->tolerance);
    const auto once = output(**checker, **loaded, 4096);
    EXPECT_EQ(output(**checker, **loaded, 4096), once) << "other bits in another run";
  }
  std::cout << GetParam().op << " " << GetParam().problem << ": every " << step << ". of "
            << variants.size() << " variants on " << device().info().name << ", errors up to "
            << worst << " of what is allowed" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, AttentionOnGpu,
    testing::Values(
        Case{"attention.prefill",
             "batch=2,seq_q=1023,seq_k=1024,heads=4,kv_heads=2,head_dim=128,causal=true,lse=true,"
             "T=bf16"},
        Case{"attention.prefill",
             "batch=1,seq_q=799,seq_k=513,heads=4,kv_heads=1,head_dim=64,causal=true,lse=true,"
             "T=f16"},
        Case{"attention.prefill",
             "batch=1,seq_q=307,seq_k=256,heads=4,kv_heads=4,head_dim=256,T=bf16"},
        Case{"attention.prefill",
             "batch=1,seq_q=113,seq_k=203,heads=2,kv_heads=2,head_dim=96,windowed=true,window=40,"
             "capped=true,lse=true,T=f16"},
        Case{"attention.prefill",
             "batch=1,seq_q=4224,seq_k=4224,heads=2,kv_heads=1,head_dim=128,T=bf16"},
        Case{"attention.varlen",
             "sequences=37,tokens_q=3000,max_q=700,heads=4,kv_heads=2,head_dim=128,causal=true,"
             "lse=true,T=bf16"},
        Case{"attention.varlen",
             "sequences=9,tokens_q=900,tokens_k=4000,max_q=300,max_k=1500,heads=2,kv_heads=1,"
             "head_dim=64,T=f16"},
        Case{"attention.decode",
             "batch=1,q_len=1,kv_len=1023,heads=32,kv_heads=8,head_dim=128,lse=true,T=bf16"},
        Case{"attention.decode",
             "batch=7,q_len=5,kv_len=3000,total_kv=9000,heads=8,kv_heads=2,head_dim=128,"
             "causal=true,lse=true,T=f16"},
        Case{"attention.decode",
             "batch=9,q_len=1,kv_len=2000,total_kv=7000,heads=16,kv_heads=1,head_dim=64,paged=true,"
             "page_size=16,pages=460,T=bf16"},
        Case{"attention.decode",
             "batch=2,q_len=16,kv_len=777,heads=4,kv_heads=2,head_dim=256,windowed=true,window=100,"
             "causal=true,T=bf16"}));

}  // namespace
}  // namespace mgtune
