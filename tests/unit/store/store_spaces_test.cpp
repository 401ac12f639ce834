#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "store/store.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

const SpaceRecord kRow = {"row", 100, 40,
                          true,  "",  {{"hidden % VEC == 0", 50}, {"VEC * 4 <= 16", 10}}};
const SpaceRecord kCluster = {"cluster", 64, 0, true, "requires device.cc >= 90", {}};
const SpaceRecord kLarge = {"row", 10'000'000'000, 5184, false, "", {{"A < B", 7}}};

TEST_F(StoreTest, SpacesComeBackInOrderWithTheirRules) {
  Store store = open();
  const OutcomeRecord outcome = outcome_in(store);
  ASSERT_TRUE(store.record_spaces(outcome.sweep, outcome.key.problem, {{kRow, kCluster}}).ok());
  const std::vector<SpaceView> views = *store.spaces();
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].sweep, outcome.sweep);
  EXPECT_EQ(views[0].gpu_id, outcome.key.gpu);
  EXPECT_EQ(views[0].op, "rmsnorm.forward");
  EXPECT_EQ(views[0].problem, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(views[0].space, kRow);
  EXPECT_EQ(views[1].space, kCluster);
  EXPECT_EQ(store.spaces("rmsnorm.forward")->size(), 2U);
  EXPECT_TRUE(store.spaces("swiglu.forward")->empty());
}

TEST_F(StoreTest, SpacesOfASweepAndProblemAreReplaced) {
  Store store = open();
  const OutcomeRecord outcome = outcome_in(store);
  ASSERT_TRUE(store.record_spaces(outcome.sweep, outcome.key.problem, {{kRow, kCluster}}).ok());
  ASSERT_TRUE(store.record_spaces(outcome.sweep, outcome.key.problem, {{kLarge}}).ok());
  const std::vector<SpaceView> views = *store.spaces();
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].space, kLarge);
}

TEST_F(StoreTest, TheSpacesOfTheNewestSweepOfAGpuCount) {
  Store store = open();
  OutcomeRecord outcome = outcome_in(store);
  ASSERT_TRUE(store.record_spaces(outcome.sweep, outcome.key.problem, {{kRow, kCluster}}).ok());
  const OutcomeRecord later = outcome_in(store);
  ASSERT_NE(later.sweep, outcome.sweep);
  ASSERT_TRUE(store.record_spaces(later.sweep, later.key.problem, {{kLarge}}).ok());
  const OutcomeRecord elsewhere = outcome_in(store, kH200Record);
  ASSERT_TRUE(store.record_spaces(elsewhere.sweep, elsewhere.key.problem, {{kRow}}).ok());
  std::vector<SpaceRecord> spaces;
  for (const SpaceView& view : *store.spaces()) spaces.push_back(view.space);
  EXPECT_THAT(spaces, ElementsAre(kLarge, kRow));
}

TEST_F(StoreTest, SpacesOfAnUnknownProblemAreRefused) {
  Store store = open();
  const OutcomeRecord outcome = outcome_in(store);
  EXPECT_FALSE(store.record_spaces(outcome.sweep, 999, {{kRow}}).ok());
  EXPECT_TRUE(store.spaces()->empty());
}

}  // namespace
}  // namespace mgtune
