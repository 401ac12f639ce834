// Plans with rules: each launch takes the leaf of its dims, and a plan holds what its ranges can
// reach.

#include "dispatch/plan_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatch/plan.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr DimRange kDefaultRange{1, 0};

class PlanRulesTest : public testing::Test {
 protected:
  PlanRulesTest() { declare_toy_kernels(device_); }

  std::unique_ptr<Plan> plan(const Evidence& evidence, DimRange rows = {1, 65536},
                             bool strict = false) {
    Builder builder = fake_builder();
    return must(Plan::make(modules_, builder, binding_, {rows, kDefaultRange}, evidence, strict));
  }

  FakeDevice device_;
  SharedModules modules_{device_};
  const Operator op_ = toy_norm();
  const Binding binding_ = bound(op_, {{"hidden", "64"}, {"T", "f32"}});
};

TEST_F(PlanRulesTest, AgreesWithSelectionOnEveryShape) {
  Evidence evidence = toy_evidence(op_, device_.info());
  evidence.tuned = {
      tuned_entry(op_, "rows=5000,hidden=64,T=f32", "row THREADS=32 VEC=4", device_.info())};
  const auto made = plan(evidence);
  for (std::int64_t rows = 1; rows <= 65536; rows += 1 + rows / 50) {
    const Problem problem = must(complete(binding_, {{"rows", rows}}));
    const Plan::Explanation why = must(made->explain({rows, -1}));
    const SelectedVariant wanted = select_variants(problem, device_.info(), evidence).front();
    EXPECT_EQ(why.variant, variant_text(op_, wanted.variant)) << rows;
    EXPECT_EQ(why.step, wanted.step) << rows;
  }
}

TEST_F(PlanRulesTest, TheBorderIsExact) {
  const auto made = plan(toy_evidence(op_, device_.info()));
  EXPECT_EQ(must(made->explain({1024, -1})).variant, "row THREADS=64 VEC=4");
  EXPECT_EQ(must(made->explain({1025, -1})).variant, "row THREADS=256 VEC=4");
  const Plan::Explanation why = must(made->explain({1025, -1}));
  EXPECT_EQ(why.reason, "rules of Fake H200, fitted to 40 problems");
  ASSERT_EQ(why.lines.size(), 2);
  EXPECT_THAT(why.lines[0], HasSubstr("(62976000 against 62914560): no"));
  EXPECT_THAT(why.improvement, HasSubstr("up to 6.0 % expected"));
}

TEST_F(PlanRulesTest, HoldsOnlyWhatItsRangesReach) {
  const Evidence evidence = toy_evidence(op_, device_.info());
  EXPECT_THAT(plan(evidence, {1, 1000})->variants(), Not(Contains("row THREADS=256 VEC=4")));
  EXPECT_THAT(plan(evidence, {2000, 3000})->variants(), Not(Contains("row THREADS=64 VEC=4")));
  const PlanRules both(toy_rules(op_, device_.info()), binding_, {{1, 65536}, kDefaultRange},
                       device_.info());
  EXPECT_EQ(both.leaves().size(), 2);
}

// The leaf of every shape is that of the conditions as they are written, whether the plan compares
// with a threshold or evaluates them.
class PlanRulesThresholds : public PlanRulesTest {
 protected:
  // `evaluated`: how many conditions stay as they are.
  void expect_same_leaves(const std::string& condition, std::size_t evaluated) {
    auto rules = std::make_shared<Rules>(*toy_rules(op_, device_.info()));
    rules->nodes.front().condition = must(RuleNames(op_).parse(condition, ValueType::boolean));
    const PlanRules here(rules, binding_, {{1, 5000}, kDefaultRange}, device_.info());
    EXPECT_EQ(here.evaluated_conditions(), evaluated) << condition;
    for (std::int64_t rows = 1; rows <= 5000; ++rows) {
      const Problem problem = must(complete(binding_, {{"rows", rows}}));
      const RuleNode& wanted = rules->leaf_of(RuleNames(op_).values(
          problem, device_.info().limits, bandwidth_for(device_.info(), *rules)));
      ASSERT_EQ(here.leaves().at(here.find(problem.slots)), &wanted) << condition << ' ' << rows;
    }
  }
};

TEST_F(PlanRulesThresholds, AConditionThatChangesOnceIsAComparison) {
  expect_same_leaves("120 * bytes <= device.l2_bytes", 0);
  expect_same_leaves("120 * bytes > device.l2_bytes", 0);
  expect_same_leaves("rows < 17 * device.sm_count", 0);
  expect_same_leaves("rows * 64 >= 10000 || bytes > 7000", 0);
  expect_same_leaves("rows == 1", 0);
  expect_same_leaves("rows >= 5000", 0);
}

TEST_F(PlanRulesThresholds, OneThatChangesMoreThanOnceIsEvaluated) {
  expect_same_leaves("rows % 3 == 0", 1);
  expect_same_leaves("rows == 77", 1);
  expect_same_leaves("ceil_div(rows, device.sm_count) * device.sm_count - rows < 60", 1);
  expect_same_leaves("bytes == 512 * 1024", 1);
}

TEST_F(PlanRulesTest, StrictRefusesRulesOfAnotherGpu) {
  DeviceInfo other = device_.info();
  other.name = "Fake H100";
  const Evidence evidence = toy_evidence(op_, other);
  EXPECT_EQ(must(plan(evidence)->explain({8, -1})).step, SelectionStep::rules_of_other_gpu);
  EXPECT_EQ(must(plan(evidence, {1, 64}, true)->explain({8, -1})).step,
            SelectionStep::default_ladder);
}

TEST_F(PlanRulesTest, WhatFailedHereIsNotLoaded) {
  Evidence evidence = toy_evidence(op_, device_.info());
  const GpuRecord here = gpu_record(device_.info());
  evidence.failed.add(here, op_.full_name(), "row THREADS=64 VEC=4", Outcome::crashed);
  evidence.failed.add(here, op_.full_name(), "row THREADS=128 VEC=4", Outcome::wrong);
  const auto made = plan(evidence);
  EXPECT_THAT(made->variants(), Not(Contains("row THREADS=64 VEC=4")));
  EXPECT_THAT(made->variants(), Not(Contains("row THREADS=128 VEC=4")));
  EXPECT_EQ(must(made->explain({8, -1})).variant, "row THREADS=256 VEC=2");
}

}  // namespace
}  // namespace mgtune
