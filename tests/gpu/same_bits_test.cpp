// On a real GPU a variant gives the same bits in each of 100 runs: variants of every design of
// every shipped operator, on small problems that have rows and columns which end inside a block.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "check/checker.h"
#include "family/catalog.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/kernels/variants_on_gpu.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

constexpr int kRuns = 100;

class SameBits : public VariantsOnGpu, public testing::WithParamInterface<const char*> {};

// "rmsnorm.forward rows=700,hidden=1024,T=bf16": an operator and a problem of it.
TEST_P(SameBits, InEveryRun) {
  const std::string text = GetParam();
  const std::size_t space_at = text.find(' ');
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator(text.substr(0, space_at)).value();
  const Problem problem =
      bind_problem(op, parse_assignments(text.substr(space_at + 1)).value()).value();
  const auto checker = Checker::make(device(), builder_, problem);
  ASSERT_TRUE(checker.ok()) << checker.status().message();

  const std::vector<Variant> variants = shuffled_variants(problem);
  ASSERT_FALSE(variants.empty());
  const std::size_t most = in_long_lane<std::size_t>(400, 8);  // of each design
  std::map<int, std::size_t> done;
  for (const Variant& variant : variants) {
    if (done[variant.design] == most) continue;
    ++done[variant.design];
    SCOPED_TRACE(variant_text(op, variant));
    const auto loaded = load(problem, variant);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const LoadedVariant* const one = loaded->get();
    const auto arguments = (*checker)->launch_arguments({&one, 1}, 1);
    ASSERT_TRUE(arguments.ok()) << arguments.status().message();
    const auto first = outputs(**loaded, arguments->front().front(), problem);
    ASSERT_TRUE(first.ok()) << first.status().message();
    for (int run = 1; run < kRuns; ++run) {
      const auto next = outputs(**loaded, arguments->front().front(), problem);
      ASSERT_TRUE(next.ok()) << next.status().message();
      ASSERT_TRUE(*next == *first) << "run " << run;
    }
  }
  std::cout << text << ":";
  for (const auto& [design, count] : done) {
    std::cout << " " << op.designs[static_cast<std::size_t>(design)].name << " " << count;
  }
  std::cout << " variants, " << kRuns << " runs each, on " << device().info().name << std::endl;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, SameBits,
    testing::Values("rmsnorm.forward rows=300,hidden=1032,T=bf16,rstd=true",
                    "rmsnorm.forward rows=9,hidden=32768,T=bf16",
                    "rmsnorm.forward rows=140,hidden=32768,T=bf16",
                    "rmsnorm.add_forward rows=300,hidden=1032,T=bf16,rstd=true",
                    "rmsnorm.add_forward rows=140,hidden=32768,T=bf16",
                    "rmsnorm.backward rows=301,hidden=1032,T=bf16,dw=true",
                    "rmsnorm.backward rows=40,hidden=65536,T=bf16,dw=true",
                    "rmsnorm.add_backward rows=301,hidden=1032,T=f16,dw=true",
                    "swiglu.forward rows=301,hidden=1032,T=bf16",
                    "swiglu.packed_forward rows=301,hidden=1032,T=bf16",
                    "swiglu.backward rows=301,hidden=1032,T=bf16",
                    "swiglu.packed_backward rows=301,hidden=1032,T=bf16",
                    "attention.backward batch=2,seq_q=301,seq_k=333,heads=4,kv_heads=2,"
                    "head_dim=64,causal=true,T=bf16",
                    "attention.backward batch=1,seq_q=301,seq_k=200,heads=7,kv_heads=1,"
                    "head_dim=128,T=f16",
                    "gemm.forward m=5,n=1032,k=4104,T=bf16",
                    "gemm.forward m=70,n=1032,k=4104,T=bf16",
                    "swiglu.gate_up m=5,n=1032,k=4104,T=bf16"));

}  // namespace
}  // namespace mgtune
