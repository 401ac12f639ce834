// The variants with which the search of a problem begins.

#include "sweep/first_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "family/catalog.h"
#include "system/file_system.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::SizeIs;

class FirstVariantsTest : public testing::Test {
 protected:
  FirstVariantsTest() {
    const std::filesystem::path rules = folder_.file("rules/nvidia-h200");
    std::filesystem::create_directories(rules);
    const std::string name = "swiglu.forward.rules.json";
    std::filesystem::copy_file(source_path("results/h200/" + name), rules / name);
    h200_.kind = DeviceKind::cuda;
    h200_.name = "NVIDIA H200";
    h200_.arch = "sm_90";
    h200_.limits = kH200;
  }

  std::vector<std::string> first(const std::string& op, const VariantLists& try_first = {}) const {
    const Operator& found = **catalog_.find_operator(op);
    const Problem problem =
        *bind_problem(found, *parse_assignments("rows=2048,hidden=8192,T=bf16"));
    std::vector<std::string> texts;
    for (const Variant& variant :
         first_variants(try_first, folder_.file("results.db"), problem, h200_)) {
      texts.push_back(variant_text(found, variant));
    }
    return texts;
  }

  static inline Catalog catalog_{FileSystem::real()};
  const TestFolder folder_;
  DeviceInfo h200_;
};

TEST_F(FirstVariantsTest, AreThoseThatTheRulesBesideTheDatabaseName) {
  const std::vector<std::string> texts = first("swiglu.forward");
  EXPECT_THAT(texts, SizeIs(testing::AllOf(testing::Ge(1U), testing::Le(4U))));
  EXPECT_THAT(texts, testing::Contains(
                         "flat THREADS=256 VEC=8 UNROLL=1 LOAD=normal STORE=normal PDL=true"));
}

TEST_F(FirstVariantsTest, BeginWithThoseThatTheUserNames) {
  const Operator& op = **catalog_.find_operator("swiglu.forward");
  const std::string named = "flat THREADS=512 VEC=4 UNROLL=1 LOAD=normal STORE=normal PDL=false";
  const std::vector<std::string> of_rules = first("swiglu.forward");
  const VariantLists lists = {{op.full_name(), {*parse_variant(op, named)}}};
  const std::vector<std::string> texts = first("swiglu.forward", lists);
  ASSERT_THAT(texts, SizeIs(of_rules.size() + 1));
  EXPECT_EQ(texts.front(), named);
}

}  // namespace
}  // namespace mgtune
