// The look-up of a launch: which row is nearest, what comes behind it, and that no shape of a range
// gets another variant than selection would give it.

#include "dispatch/dispatch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

constexpr std::size_t kVariants = 4;

// toy.split has two dims that count: batch and length.
class DispatchTableTest : public testing::Test {
 protected:
  Slots at(std::int64_t batch, std::int64_t length) const {
    Slots slots = binding_.slots;
    slots[std::size_t(op_.dims[0].slot)] = batch;
    slots[std::size_t(op_.dims[1].slot)] = length;
    return slots;
  }

  // By the definitions of selection, row by row.
  const DispatchRow* nearest(const std::vector<DispatchRow>& rows, const Slots& slots) const {
    const DispatchRow* found = nullptr;
    double smallest = std::numeric_limits<double>::infinity();
    for (const DispatchRow& row : rows) {
      if (!is_near(op_, row.slots, slots)) continue;
      const double distance = row.distance + dims_distance(op_, row.slots, slots);
      if (distance > smallest - 1e-9) continue;
      smallest = distance;
      found = &row;
    }
    return found;
  }

  const Operator op_ = toy_split();
  const Binding binding_ = bound(op_, {{"width", "64"}, {"T", "f32"}});
};

TEST_F(DispatchTableTest, FindsTheRowThatSelectionWouldTake) {
  std::minstd_rand random(1);
  const auto up_to = [&](std::int64_t end) { return static_cast<std::int64_t>(random() % end); };
  std::size_t near = 0, far = 0;
  for (int table_number = 0; table_number < 50; ++table_number) {
    std::vector<DispatchRow> rows;
    const std::size_t count = std::size_t(up_to(DispatchTable::kMaxRows + 1));
    for (std::size_t i = 0; i < count; ++i) {
      const double distance = up_to(4) == 0 ? 0.5 : 0;
      rows.push_back({std::size_t(up_to(kVariants)), distance, at(up_to(40), up_to(300)), ""});
    }
    const DispatchTable table(op_, kVariants, rows, nullptr, {}, {{3, 3}, {1, 1}, {0, 0}, {2, 2}});
    for (int launch = 0; launch < 400; ++launch) {
      const Slots slots = at(up_to(60), up_to(450));
      const DispatchRow* wanted = nearest(rows, slots);
      (wanted == nullptr ? far : near)++;
      const std::size_t found = table.find(slots).value();
      if (wanted == nullptr) {
        EXPECT_EQ(found, 2U) << "the first of the ladder";
        EXPECT_EQ(table.nearest_row(found, slots), nullptr);
        continue;
      }
      EXPECT_EQ(found, wanted->variant);
      ASSERT_NE(table.nearest_row(found, slots), nullptr);
      EXPECT_EQ(table.nearest_row(found, slots)->slots, wanted->slots);
    }
  }
  EXPECT_GT(near, 5'000U);
  EXPECT_GT(far, 1'000U);
}

TEST_F(DispatchTableTest, TheBoundIsExact) {
  const DispatchTable table(op_, kVariants, {{1, 0, at(8, 100), ""}}, nullptr, {}, {});
  EXPECT_EQ(table.find(at(8, 67)), 1U);
  EXPECT_EQ(table.find(at(8, 66)), 0U);
  EXPECT_EQ(table.find(at(8, 150)), 1U);
  EXPECT_EQ(table.find(at(8, 151)), 0U);
  EXPECT_EQ(table.find(at(13, 100)), 0U) << "near in one dim is not near";
}

TEST_F(DispatchTableTest, TheSmallestAndTheLargestDimsAreServed) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const DispatchTable table(op_, kVariants, {{1, 0, at(1, kLargest), ""}}, nullptr, {}, {});
  EXPECT_EQ(table.find(at(0, kLargest)), 1U) << "0 counts as 1";
  EXPECT_EQ(table.find(at(1, kLargest - 1)), 1U);
  EXPECT_EQ(table.find(at(1, kLargest / 2)), 0U);
}

TEST_F(DispatchTableTest, AllComeOnceTheNearerFirst) {
  const DispatchTable table(op_, kVariants,
                            {{2, 0, at(8, 120), ""}, {3, 0, at(8, 100), ""}, {1, 0, at(99, 1), ""}},
                            nullptr, {}, {{1, 1}, {0, 0}, {2, 2}, {3, 3}});
  const Slots slots = at(8, 101);
  ASSERT_EQ(table.find(slots), 3U);
  DispatchTable::Distances distances;
  EXPECT_FALSE(table.needs_estimates());
  table.measure(slots, {}, distances);
  EXPECT_EQ(table.pop_nearest(distances), 3U);
  EXPECT_EQ(table.pop_nearest(distances), 2U);
  EXPECT_EQ(table.pop_nearest(distances), 1U) << "by its place in the ladder";
  EXPECT_EQ(table.pop_nearest(distances), 0U);
}

TEST_F(DispatchTableTest, EstimatesOrderTheVariantsOfAGroup) {
  // The second to fourth place of the ladder are a group; variant 2 is tuned.
  const DispatchTable table(op_, kVariants, {{2, 0, at(8, 120), ""}}, nullptr, {},
                            {{1, 1}, {0, 0}, {2, 1}, {3, 1}});
  EXPECT_TRUE(table.needs_estimates());
  EXPECT_TRUE(table.needs_estimate(0));
  EXPECT_FALSE(table.needs_estimate(1));
  const auto order = [&](const Slots& slots, const DispatchTable::Estimates& estimates) {
    DispatchTable::Distances distances;
    table.measure(slots, estimates, distances);
    std::vector<std::size_t> popped;
    while (popped.size() < kVariants) popped.push_back(table.pop_nearest(distances));
    return popped;
  };
  using testing::ElementsAre;
  EXPECT_THAT(order(at(99, 1), {7, 0, 5, 6}), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(order(at(99, 1), {5, 0, 5, 5}), ElementsAre(1, 0, 2, 3)) << "by their places";
  EXPECT_THAT(order(at(8, 120), {7, 0, 9, 6}), ElementsAre(2, 1, 3, 0)) << "tuned";
  EXPECT_EQ(table.find(at(99, 1)), 1U) << "it comes before the group";
}

TEST_F(DispatchTableTest, FindsNoneIfEstimatesDecideTheFirst) {
  const DispatchTable table(op_, kVariants, {}, nullptr, {}, {{1, 0}, {0, 0}, {2, 2}, {3, 3}});
  EXPECT_EQ(table.find(at(8, 100)), std::nullopt);
}

}  // namespace
}  // namespace mgtune
