// A build depends on the architecture alone. Two GPUs of one architecture with different numbers of
// SMs and different L2 caches ask for the same builds, so packs and recorded builds serve both.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "build/builder.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "plan/problem_set.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/gpu_limits.h"

namespace mgtune {
namespace {

// Of the H200's architecture, with fewer SMs and a smaller L2: about an H100 PCIe.
constexpr DeviceLimits kSmallerPart{90, 114, kH200.max_shared_bytes, 50 << 20};

constexpr std::size_t kVariantsPerProblem = 100;

// The kernels, the source and the architecture of a variant's build.
std::vector<std::string> build_of(const Problem& problem, const Variant& variant,
                                  const DeviceLimits& limits) {
  const auto slots = compile_slots(problem.binding(), variant, limits);
  if (!slots.ok()) return {slots.status().message()};
  const auto request = variant_build_request(*problem.op, variant, *slots, "sm_90");
  if (!request.ok()) return {request.status().message()};
  std::vector<std::string> words = request->kernels;
  words.push_back(request->source);
  words.push_back(request->arch);
  return words;
}

TEST(DeviceFigures, NeverChangeTheBuildOfAShippedVariant) {
  Catalog catalog(FileSystem::real());
  std::vector<const Operator*> operators;
  for (const std::string& family : Catalog::shipped_families()) {
    const auto found = catalog.find(family);
    ASSERT_TRUE(found.ok()) << found.status().message();
    operators.insert(operators.end(), found->begin(), found->end());
  }
  ASSERT_FALSE(operators.empty());
  for (const Operator* op : operators) {
    const auto problems = make_problems({op}, {}, DeviceKind::cuda);
    ASSERT_TRUE(problems.ok()) << problems.status().message();
    std::size_t compared = 0, skipped = 0;
    for (const Problem& problem : *problems) {
      const auto compare = [&](const Variant& variant) {
        ++compared;
        ASSERT_EQ(build_of(problem, variant, kH200), build_of(problem, variant, kSmallerPart))
            << problem.text() << ": " << variant_text(*op, variant);
      };
      for (const Variant& rung : default_ladder(problem.binding(), kH200)) {
        compare(rung);
        if (testing::Test::HasFatalFailure()) return;
      }
      // The first variants of the space, which are all of a small one, and then every so manieth.
      std::size_t count = 0, taken = 0;
      Space(problem, kH200).for_each([&](const Variant& variant) {
        const std::size_t index = count++;
        if (index < 20 || index % 17 == 0) {
          compare(variant);
          ++taken;
        } else {
          ++skipped;
        }
        return taken < kVariantsPerProblem && !testing::Test::HasFatalFailure();
      });
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(compared > 20 || skipped == 0) << op->full_name();
  }
}

}  // namespace
}  // namespace mgtune
