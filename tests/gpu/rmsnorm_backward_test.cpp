// rmsnorm.backward and rmsnorm.add_backward on a real GPU: variants of every design, clusters among
// them, pass their check against the fp64 reference on shapes where rows and columns end inside a
// block.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
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

class RmsnormBackwardOnGpu : public VariantsOnGpu,
                             public testing::WithParamInterface<ProblemOnGpu> {};

TEST_P(RmsnormBackwardOnGpu, VariantsAreRight) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator(GetParam().op).value();
  const Problem problem = bind_problem(op, parse_assignments(GetParam().problem).value()).value();
  const auto checker = Checker::make(device(), builder_, problem);
  ASSERT_TRUE(checker.ok()) << checker.status().message();

  const std::vector<Variant> variants = shuffled_variants(problem);
  ASSERT_FALSE(variants.empty());
  const std::size_t most = in_long_lane<std::size_t>(400, 12);  // of each design
  std::vector<std::size_t> done(op.designs.size());
  for (const Variant& variant : variants) {
    std::size_t& of_design = done[static_cast<std::size_t>(variant.design)];
    if (of_design == most) continue;
    ++of_design;
    SCOPED_TRACE(variant_text(op, variant));
    const auto loaded = load(problem, variant);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const auto record = (*checker)->check(**loaded);
    ASSERT_TRUE(record.ok()) << record.status().message();
    ASSERT_EQ(record->outcome, Outcome::ok) << record->message;
  }
  std::cout << GetParam().op << " " << GetParam().problem << ":";
  for (std::size_t i = 0; i < done.size(); ++i) {
    std::cout << " " << op.designs[i].name << " " << done[i];
  }
  std::cout << " variants on " << device().info().name << std::endl;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, RmsnormBackwardOnGpu,
    testing::Values(ProblemOnGpu{"rmsnorm.backward", "rows=700,hidden=1024,T=bf16,dw=true"},
                    ProblemOnGpu{"rmsnorm.backward", "rows=301,hidden=4096,T=bf16,W=f32,dw=true"},
                    ProblemOnGpu{"rmsnorm.backward",
                                 "rows=45,hidden=4104,x_stride=4112,T=f16,dw=true"},
                    ProblemOnGpu{"rmsnorm.backward", "rows=300,hidden=333,T=f32,dw=true"},
                    ProblemOnGpu{"rmsnorm.backward", "rows=40,hidden=65536,T=bf16,dw=true"},
                    ProblemOnGpu{"rmsnorm.backward", "rows=5,hidden=65537,T=bf16,dw=true"},
                    ProblemOnGpu{"rmsnorm.backward", "rows=3,hidden=262144,T=f16,dw=true"},
                    ProblemOnGpu{"rmsnorm.backward", "rows=3000,hidden=128,T=bf16"},
                    ProblemOnGpu{"rmsnorm.add_backward", "rows=301,hidden=4096,T=bf16,dw=true"},
                    ProblemOnGpu{"rmsnorm.add_backward", "rows=9,hidden=32768,T=f32,dw=true"}));

}  // namespace
}  // namespace mgtune
