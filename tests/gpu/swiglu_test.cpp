// The swiglu operators on a real GPU: variants of the whole space, those with dependent launches
// among them, give what the fp64 reference gives, launched one after the other.

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

class SwigluOnGpu : public RealGpuTest, public testing::WithParamInterface<Case> {};

TEST_P(SwigluOnGpu, VariantsEqualTheReference) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator(GetParam().op).value();
  const Problem problem = bind_problem(op, parse_assignments(GetParam().problem).value()).value();
  Builder builder(BuildCache(FileSystem::real(), BuildCache::default_directory()));
  const auto checker = Checker::make(device(), builder, problem);
  ASSERT_TRUE(checker.ok()) << checker.status().message();
  const DeviceLimits& limits = device().info().limits;
  const std::vector<Variant> variants = Space(problem, limits).all();
  ASSERT_FALSE(variants.empty());
  const std::size_t step = in_long_lane<std::size_t>(1, 7);
  for (std::size_t v = 0; v < variants.size(); v += step) {
    SCOPED_TRACE(variant_text(op, variants[v]));
    const Slots slots = compile_slots(problem.binding(), variants[v], limits).value();
    const auto request = variant_build_request(op, variants[v], slots, device().info().arch);
    ASSERT_TRUE(request.ok()) << request.status().message();
    const auto build = builder.build(*request);
    ASSERT_TRUE(build.ok()) << build.status().message();
    for (const BuildKernel& kernel : build->kernels) EXPECT_EQ(kernel.spill_bytes, 0);
    const auto loaded = LoadedVariant::load(device(), problem.binding(), variants[v], *build);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const auto record = (*checker)->check(**loaded);
    ASSERT_TRUE(record.ok()) << record.status().message();
    EXPECT_EQ(record->outcome, Outcome::ok) << record->message;
  }
  std::cout << GetParam().op << " " << GetParam().problem << ": every " << step << ". of "
            << variants.size() << " variants on " << device().info().name << std::endl;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, SwigluOnGpu,
    testing::Values(Case{"swiglu.forward", "rows=16,hidden=14336,T=bf16"},
                    Case{"swiglu.forward", "rows=517,hidden=3001,T=f16"},
                    Case{"swiglu.forward", "rows=300,hidden=4096,gate_stride=8192,T=f32"},
                    Case{"swiglu.packed_forward", "rows=16,hidden=1000,T=bf16"},
                    Case{"swiglu.packed_forward", "rows=1027,hidden=1004,T=f32"},
                    Case{"swiglu.backward", "rows=16,hidden=14336,T=bf16"},
                    Case{"swiglu.backward", "rows=517,hidden=3001,T=f32"},
                    Case{"swiglu.backward", "rows=300,hidden=4096,up_stride=8192,T=f16"},
                    Case{"swiglu.packed_backward", "rows=1027,hidden=1004,T=bf16"}));

}  // namespace
}  // namespace mgtune
