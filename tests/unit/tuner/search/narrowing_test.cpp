#include "space/narrowing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/absent_gpu.h"
#include "space/space.h"
#include "sweep/planned_problem.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Conditions = std::vector<std::string>;

class NarrowingTest : public ::testing::Test {
 protected:
  std::string refused(const Conditions& conditions) const {
    const Result<Narrowing> narrowing = parse_narrowing(op_, conditions);
    EXPECT_EQ(narrowing.status().code(), StatusCode::invalid_argument);
    return narrowing.status().message();
  }
  Space narrowed(const Conditions& conditions) const {
    Result<Narrowing> narrowing = parse_narrowing(op_, conditions);
    EXPECT_TRUE(narrowing.ok()) << narrowing.status().message();
    return {problem_, kH200, std::make_shared<const Narrowing>(*std::move(narrowing))};
  }
  // The admissible variants that fulfil a condition of ours, without the narrowing.
  std::uint64_t count(const std::function<bool(const Variant&)>& fulfils) const {
    const Space whole(problem_, kH200);
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < whole.size(); ++i) {
      const Variant variant = whole.point(i);
      if (whole.admits(variant) && fulfils(variant)) ++count;
    }
    return count;
  }
  std::int64_t value(const Variant& variant, const std::string& name) const {
    const std::vector<Parameter>& params = op_.designs[0].params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (params[i].name == name) return variant.values[i];
    }
    ADD_FAILURE() << name;
    return 0;
  }

  const Operator op_ = golden_operator("rmsnorm.forward");
  const Problem problem_ =
      bind_problem(op_, {{"rows", "64"}, {"hidden", "4096"}, {"T", "f32"}}).value();
};

TEST_F(NarrowingTest, OnlyWhatFulfilsAllConditionsIsLeft) {
  const std::string name = op_.designs[0].params[0].name;
  const std::int64_t bound = op_.designs[0].params[0].values[1];
  const auto is_small = [&](const Variant& v) { return v.design == 0 && value(v, name) <= bound; };
  const auto is_equal = [&](const Variant& v) { return v.design == 0 && value(v, name) == bound; };
  const std::string below = name + " <= " + std::to_string(bound);
  const std::string not_below = name + " >= " + std::to_string(bound);
  EXPECT_EQ(admissible_variants(narrowed({below}).statistics()), count(is_small));
  EXPECT_EQ(admissible_variants(narrowed({below, not_below}).statistics()), count(is_equal));
  EXPECT_LT(count(is_small), count([](const Variant&) { return true; }));
  const std::vector<DesignStatistics> designs = narrowed({below}).statistics();
  EXPECT_TRUE(designs[0].pruned.contains("--where " + below));
}

TEST_F(NarrowingTest, WhatCannotBeParsedIsRefusedWithItsPlace) {
  EXPECT_THAT(refused({"no_such_name == 1"}),
              AllOf(HasSubstr("unknown name 'no_such_name'"), HasSubstr("^~~~")));
  EXPECT_THAT(refused({op_.designs[0].params[0].name + " +"}), HasSubstr("^"));
  EXPECT_THAT(refused({"1 + 1"}), HasSubstr("boolean"));
  EXPECT_THAT(refused({"build.blocks_per_sm > 1"}), HasSubstr("after a build is loaded"));
}

// Results of earlier sweeps outside the narrowed space still compete for the pick, and the store
// keeps the size of the whole space.
TEST_F(NarrowingTest, ThePlanKnowsTheWholeSpace) {
  DeviceInfo device;
  device.limits = kH200;
  const auto narrowing = std::make_shared<const Narrowing>(*parse_narrowing(op_, {"false"}));
  const PlannedProblem all = plan_problem(problem_, device, kCountedNodes);
  const PlannedProblem none = plan_problem(problem_, device, kCountedNodes, narrowing);
  EXPECT_EQ(none.admissible, 0U);
  EXPECT_FALSE(none.is_served());
  const Variant variant = all.space.ladder().front();
  EXPECT_TRUE(none.admits(variant));
  EXPECT_FALSE(none.space.admits(variant));
  const std::vector<SpaceRecord> recorded = space_records(none);
  ASSERT_EQ(recorded.size(), all.designs.size());
  EXPECT_EQ(recorded[0].admissible, static_cast<std::int64_t>(all.designs[0].admissible));
}

TEST(AbsentGpu, ItsLimitsAreThoseOfTheDataSheet) {
  const std::vector<GpuProduct> products = shipped_gpu_products().value();
  for (const GpuProduct& product : products) {
    const DeviceInfo device = device_of(product);
    EXPECT_TRUE(is_absent(device)) << product.name;
    EXPECT_EQ(device.limits.sm_count, product.sm_count);
    EXPECT_EQ(product.arch, "sm_" + std::to_string(device.limits.compute_capability));
    if (product.name != "H200") continue;
    EXPECT_EQ(device.limits.max_shared_bytes, kH200.max_shared_bytes);
    EXPECT_EQ(device.limits.l2_bytes, kH200.l2_bytes);
  }
}

}  // namespace
}  // namespace mgtune
