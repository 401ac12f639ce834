// rmsnorm.backward and rmsnorm.add_backward on the cpu device: ladder variants and a seeded sample
// of every design's space equal the reference over edge shapes, in any order of a block's threads.

#include "tests/helpers/kernels/rmsnorm_backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "build/builder.h"
#include "check/checker.h"
#include "device/registry.h"
#include "selection/admission.h"
#include "space/space.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/kernels/operator_check.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

// Variants that serve a problem on the cpu device: the first `rungs` of the ladder and, of each
// design, `samples` others.
std::vector<Variant> choose(const Device& device, const Problem& problem, std::size_t rungs,
                            std::size_t samples) {
  const Operator& op = *problem.op;
  std::vector<Variant> chosen;
  const auto take = [&](const Variant& variant, std::size_t& left) {
    if (left == 0 || std::ranges::find(chosen, variant) != chosen.end()) return;
    if (!may_serve(problem, variant, device.info().limits)) return;
    chosen.push_back(variant);
    --left;
  };
  for (const Variant& rung : default_ladder(problem.binding(), device.info().limits)) {
    take(rung, rungs);
  }
  std::vector<Variant> space = all_variants(Space(problem, device.info().limits));
  std::mt19937 random(static_cast<std::uint32_t>(problem.dim("hidden")));
  std::ranges::shuffle(space, random);
  for (std::size_t design = 0; design < op.designs.size(); ++design) {
    std::size_t left = samples;
    for (const Variant& variant : space) {
      if (variant.design == static_cast<int>(design)) take(variant, left);
    }
  }
  return chosen;
}

struct Case {
  const char* op;
  const char* dtypes;
};

// One element, fewer columns than threads, a warp less and more one, whole vectors, several steps;
// fewer rows than blocks and several rows a block; with and without dw.
const std::vector<std::string> kShapes = {
    "rows=17,hidden=1,dw=true",   "rows=0,hidden=24,dw=true",
    "rows=5,hidden=33,dw=true",   "rows=70,hidden=64,x_stride=72,dw=true",
    "rows=1,hidden=256",          "rows=19,hidden=1000,x_stride=1002,dw=true",
    "rows=3,hidden=4097,dw=true", "rows=2,hidden=65537,dw=true",
};

class RmsnormBackward : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    cache_ = std::make_unique<TestFolder>();
    auto device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
  }
  static void TearDownTestSuite() {
    device_.reset();
    cache_.reset();
  }

  static std::string words_of(const Operator& op, std::string shape, const std::string& dtypes) {
    if (op.name == "add_backward") {
      const std::size_t at = shape.find("x_stride");
      if (at != std::string::npos) shape[at] = 's';
    }
    return shape + "," + dtypes;
  }

  inline static std::unique_ptr<TestFolder> cache_;
  inline static std::unique_ptr<Device> device_;
};

// Under a sanitizer in order forward alone, see OperatorCheck.
TEST_P(RmsnormBackward, EqualsTheReferenceInEveryThreadOrder) {
  if (kUnderSanitizer && std::string_view(GetParam().dtypes) == "T=f16") GTEST_SKIP() << kAsBf16;
  const Operator& op = rmsnorm_backward_operator(GetParam().op);
  Builder builder(BuildCache(FileSystem::real(), cache_->path()));
  std::vector<std::pair<Problem, std::vector<Variant>>> cases;
  CompiledVariants compiled;
  for (const std::string& shape : kShapes) {
    // The kernels are the same but for the residual: every second shape is enough.
    if (op.name == "add_backward" && (&shape - kShapes.data()) % 2 == 1) continue;
    const Problem problem = problem_of(op, words_of(op, shape, GetParam().dtypes));
    auto variants = choose(*device_, problem, 1, in_long_lane<std::size_t>(3, 1));
    ASSERT_FALSE(variants.empty()) << problem.text();
    for (const Variant& variant : variants) compiled.add(problem, variant, *device_);
    cases.emplace_back(problem, std::move(variants));
  }
  const Status built = compiled.build(op);
  ASSERT_TRUE(built.ok()) << built.message();
  for (const auto& [problem, variants] : cases) {
    const auto checker = Checker::make(*device_, builder, problem);
    ASSERT_TRUE(checker.ok()) << checker.status().message();
    for (const Variant& variant : variants) {
      SCOPED_TRACE(problem.text() + ": " + variant_text(op, variant));
      const auto loaded = compiled.load(*device_, problem, variant);
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      const auto record = (*checker)->check(**loaded, OperatorCheck::kOrders);
      ASSERT_TRUE(record.ok()) << record.status().message();
      EXPECT_EQ(record->outcome, Outcome::ok) << record->message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachDType, RmsnormBackward,
                         testing::Values(Case{"rmsnorm.backward", "T=f32"},
                                         Case{"rmsnorm.backward", "T=f16"},
                                         Case{"rmsnorm.backward", "T=bf16,W=f32"},
                                         Case{"rmsnorm.add_backward", "T=f32"},
                                         Case{"rmsnorm.add_backward", "T=bf16"}),
                         [](const auto& each) {
                           std::string name = std::string(each.param.op) + each.param.dtypes;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

}  // namespace
}  // namespace mgtune
