// Which builds a pack has: what a plan may load of them, whatever its shapes are, and no more.

#include "results/pack_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "selection/admission.h"
#include "selection/default_variants.h"
#include "selection/gpu_similarity.h"
#include "selection/rules.h"
#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

class PackContentsTest : public testing::Test {
 protected:
  std::vector<TunedTableRow> rows(const std::string& op) {
    const std::string path = source_path("results/h200/nvidia-h200." + op + ".tuned.json");
    const JsonValue table = parse_json(file_content(path)).value();
    return read_tuned_table(JsonCursor(path, table), catalog_, UnknownOperators::refuse).value();
  }
  std::set<std::string> wanted(const std::string& op, const std::vector<PackedRules>& rules) {
    std::set<std::string> texts;
    for (const WantedBuild& build : wanted_builds(rows(op), rules, catalog_).value()) {
      texts.insert(build.text);
    }
    return texts;
  }

  Catalog catalog_{FileSystem::real()};
};

TEST_F(PackContentsTest, HasTheDefaultsOfShapesThatNobodyTuned) {
  const Operator& op = **catalog_.find_operator("rmsnorm.forward");
  const std::set<std::string> wanted = this->wanted(op.full_name(), {});
  std::set<std::string> bindings;
  for (const TunedTableRow& row : rows(op.full_name())) {
    const Binding binding =
        bind_problem(op, parse_assignments(row.view.problem).value()).value().binding();
    if (!bindings.insert(binding.text()).second) continue;
    const DeviceLimits limits = device_of(row.view.gpu).limits;
    const std::vector<Variant> ladder = default_ladder(binding, limits);
    for (const std::int64_t extent : {1, 3, 17, 100, 1000, 5000, 77777, 1000000}) {
      const Problem problem = complete(binding, {{"rows", extent}}).value();
      for (const Variant& variant : default_variants(problem, ladder, limits)) {
        EXPECT_TRUE(wanted.contains(op.full_name() + " " + binding.text() + ": " +
                                    variant_text(op, variant)))
            << problem.text() << ": " << variant_text(op, variant);
      }
    }
  }
}

TEST_F(PackContentsTest, HasTheVariantsOfRules) {
  const Operator& op = **catalog_.find_operator("rmsnorm.add_forward");
  const std::string text =
      file_content(source_path("tests/golden/rules/rmsnorm.add_forward.rules.json"));
  const Rules rules = read_rules("golden", parse_json(text).value(), op).value();
  const std::set<std::string> with = wanted(op.full_name(), {{op.full_name(), text}});
  std::size_t served = 0;
  for (const TunedTableRow& row : rows(op.full_name())) {
    const Problem problem = bind_problem(op, parse_assignments(row.view.problem).value()).value();
    const DeviceLimits limits = device_of(row.view.gpu).limits;
    for (const VariantPattern& pattern : rules.variants) {
      const Variant variant = *variant_of(pattern, problem.binding(), limits);
      if (!may_serve(problem, variant, limits)) continue;
      ++served;
      EXPECT_TRUE(with.contains(op.full_name() + " " + problem.binding().text() + ": " +
                                variant_text(op, variant)))
          << problem.text() << ": " << variant_text(op, variant);
    }
  }
  EXPECT_GT(served, 0U);
  EXPECT_GT(with.size(), wanted(op.full_name(), {}).size());
}

// A pack of 96 problems of rmsnorm had 1,676 builds when it had every default.
TEST_F(PackContentsTest, HasFewBuildsForEachProblem) {
  for (const char* const op : {"rmsnorm.forward", "rmsnorm.backward", "rmsnorm.add_forward",
                               "rmsnorm.add_backward", "swiglu.forward", "attention.decode"}) {
    EXPECT_LE(wanted(op, {}).size(), 6 * rows(op).size()) << op;
  }
}

}  // namespace
}  // namespace mgtune
