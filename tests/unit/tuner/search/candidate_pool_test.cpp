#include "search/candidate_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/helpers/synthetic_set.h"

namespace mgtune {
namespace {

TEST(CandidatePoolTest, EveryDesignHasItsShare) {
  const SyntheticSet set({SyntheticSet::product({100, 100, 100}).axes(0),
                          SyntheticSet::product({20}).axes(0),
                          SyntheticSet::product({1000}).axes(0)});
  CandidatePool pool(set, 1);
  pool.draw(300);
  std::vector<int> of_design(3);
  for (const std::uint64_t index : pool.indices()) {
    ++of_design[static_cast<std::size_t>(set.point(index).design)];
  }
  EXPECT_THAT(of_design, ::testing::ElementsAre(140, 20, 140));
}

TEST(CandidatePoolTest, EverythingIsACandidateUntilItIsTaken) {
  const SyntheticSet set =
      SyntheticSet::product({10, 10}, [](const Variant& v) { return v.values[0] != 3; });
  CandidatePool pool(set, 1);
  std::set<std::uint64_t> taken;
  while (true) {
    pool.draw(7);
    const std::vector<std::uint64_t> indices = pool.indices();
    if (indices.empty()) break;
    const std::set<std::uint64_t> unique(indices.begin(), indices.end());
    EXPECT_EQ(unique.size(), indices.size());
    pool.add_neighbors(set.point(indices[0]));
    for (const std::uint64_t index : pool.indices()) EXPECT_FALSE(taken.contains(index));
    pool.exclude(indices[0]);
    taken.insert(indices[0]);
  }
  EXPECT_EQ(taken.size(), 90U);
}

TEST(NeighborhoodTest, OneParameterAnywhereOrTwoByAStep) {
  const SyntheticSet set =
      SyntheticSet::product({4, 100}, [](const Variant& v) { return v.values[1] != 52; });
  const std::vector<Variant> found = neighbors(set, {0, {0, 50}});
  const auto has = [&](std::int64_t a, std::int64_t b) {
    return std::ranges::find(found, Variant{0, {a, b}}) != found.end();
  };
  EXPECT_TRUE(has(3, 50));
  EXPECT_TRUE(has(0, 66));
  EXPECT_FALSE(has(0, 67));  // beyond the nearest 32
  EXPECT_FALSE(has(0, 52));
  EXPECT_TRUE(has(1, 51));
  EXPECT_FALSE(has(2, 51));
  EXPECT_EQ(found.size(), 3U + 31U + 2U);
}

}  // namespace
}  // namespace mgtune
