#include "sweep/compile_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <set>
#include <vector>

namespace mgtune {
namespace {

constexpr std::size_t kProcesses = 16;

using Seconds = std::function<double(const Variant&)>;

// Like the convolution of Kernel Tuner's example, in which a thread computes up to four by two
// elements with unrolled loops: 0.4 to 6 s, most of it by the tile.
std::vector<Variant> tiles() {
  std::vector<Variant> variants;
  for (const std::int64_t x : {16, 32, 48, 64, 80, 96, 112, 128}) {
    for (const std::int64_t y : {1, 2, 4, 8, 16}) {
      for (const std::int64_t tile_x : {1, 2, 4}) {
        for (const std::int64_t tile_y : {1, 2}) variants.push_back({0, {x, y, tile_x, tile_y}});
      }
    }
  }
  return variants;
}

Seconds time_of_tiles(unsigned seed) {
  return [seed](const Variant& variant) {
    const auto hash = static_cast<unsigned>(variant.values[0] * 31 + variant.values[1]);
    std::mt19937 random(seed + hash);
    const double noise = std::normal_distribution<>(0, 0.15)(random);
    const auto tile = static_cast<double>(variant.values[2] * variant.values[3]);
    return 0.6 * tile * std::exp(noise);
  };
}

struct Ended {
  double seconds = 0, bound = 0;  // bound: if the work could be cut at will
  std::vector<Variant> order;
};

// Compiles all. A variant begins when a process is free; as in a sweep, twice as many as there are
// processes have been asked for by then.
Ended compile(const std::vector<Variant>& variants, const Seconds& time_of,
              std::optional<double> deadline = {}) {
  CompileOrder order(kProcesses);
  for (const Variant& variant : variants) order.add(variant);
  using Busy = std::pair<double, Variant>;
  const auto is_later = [](const Busy& a, const Busy& b) { return a.first > b.first; };
  std::priority_queue<Busy, std::vector<Busy>, decltype(is_later)> busy(is_later);
  std::queue<Variant> asked;
  Ended ended;
  double now = 0;
  while (true) {
    while (asked.size() + busy.size() < 2 * kProcesses) {
      std::optional<double> left;
      if (deadline.has_value()) left = *deadline - now;
      const std::optional<Variant> next = order.next(left);
      if (!next.has_value()) break;
      asked.push(*next);
      ended.order.push_back(*next);
    }
    while (busy.size() < kProcesses && !asked.empty()) {
      busy.emplace(now + time_of(asked.front()), asked.front());
      asked.pop();
    }
    if (busy.empty()) break;
    now = busy.top().first;
    const Variant done = busy.top().second;
    busy.pop();
    order.report(done, time_of(done));
    ended.bound += time_of(done) / kProcesses;
  }
  ended.seconds = now;
  return ended;
}

double seconds_in_order(const std::vector<Variant>& variants, const Seconds& time_of) {
  std::vector<double> free(kProcesses, 0.0);
  for (const Variant& variant : variants) {
    *std::ranges::min_element(free) += time_of(variant);
  }
  return std::ranges::max(free);
}

TEST(CompileOrder, LongVariantsDoNotBeginLast) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<Variant> variants = tiles();
    const Ended ended = compile(variants, time_of_tiles(seed));
    EXPECT_THAT(ended.order, ::testing::UnorderedElementsAreArray(variants));
    EXPECT_LT(ended.seconds, 1.04 * ended.bound) << seed;
    // The order of a space may be better than this one, which has the largest tiles last.
    std::ranges::stable_sort(
        variants, {}, [](const Variant& variant) { return variant.values[2] * variant.values[3]; });
    EXPECT_LT(ended.seconds, seconds_in_order(variants, time_of_tiles(seed))) << seed;
  }
}

TEST(CompileOrder, IfTheyDoNotFitIntoTheTimeLeftTheyKeepTheirOrder) {
  const std::vector<Variant> variants = tiles();
  const Ended ended = compile(variants, time_of_tiles(1), 0.5);
  const auto kept = ended.order.begin() + 2 * kProcesses;
  EXPECT_TRUE(std::is_sorted(kept, ended.order.end(), [](const Variant& a, const Variant& b) {
    return a.values < b.values;
  }));
}

TEST(CompileOrder, IfAllTakeEquallyLongTheyKeepTheirOrderUntilTheEnd) {
  std::vector<Variant> variants;
  for (std::int64_t value = 0; value < 1000; ++value) variants.push_back({0, {value % 10, value}});
  const Ended ended = compile(variants, [](const Variant&) { return 1.0; });
  const auto kept = ended.order.begin() + 2 * kProcesses;
  EXPECT_TRUE(std::is_sorted(kept, kept + 700, [](const Variant& a, const Variant& b) {
    return a.values[1] < b.values[1];
  }));
}

TEST(CompileOrder, TheFirstOnesHaveEveryValue) {
  CompileOrder order(kProcesses);
  for (const Variant& variant : tiles()) order.add(variant);
  std::set<std::int64_t> x, y, tile_x, tile_y;
  for (std::size_t i = 0; i < 2 * kProcesses; ++i) {
    const std::optional<Variant> variant = order.next({});
    ASSERT_TRUE(variant.has_value());
    x.insert(variant->values[0]);
    y.insert(variant->values[1]);
    tile_x.insert(variant->values[2]);
    tile_y.insert(variant->values[3]);
  }
  EXPECT_EQ(x.size(), 8U);
  EXPECT_EQ(y.size(), 5U);
  EXPECT_EQ(tile_x.size(), 3U);
  EXPECT_EQ(tile_y.size(), 2U);
}

TEST(CompileOrder, WhatNoResultKnowsIsExpectedToTakeTheMean) {
  CompileOrder order(1);
  for (std::int64_t value = 0; value < 2; ++value) order.add({0, {value}});
  EXPECT_TRUE(order.next({}).has_value() && order.next({}).has_value());  // the spread ones
  order.report({0, {1}}, 1);
  order.report({0, {2}}, 100);
  order.report({1, {}}, 10);
  const Variant shorter{0, {1}}, unknown{2, {7, 7}}, longer{0, {2}};
  for (const Variant& variant : {shorter, unknown, longer}) order.add(variant);
  EXPECT_EQ(order.next({}), longer);
  EXPECT_EQ(order.next({}), unknown);
  EXPECT_EQ(order.next({}), shorter);
  EXPECT_FALSE(order.next({}).has_value());
}

TEST(CompileOrder, WithoutAnyResultTheOrderIsThatOfTheSpace) {
  CompileOrder order(1);
  for (std::int64_t value = 0; value < 10; ++value) order.add({0, {value}});
  static_cast<void>(order.next({}));
  static_cast<void>(order.next({}));
  std::int64_t last = -1;
  while (const std::optional<Variant> variant = order.next({})) {
    EXPECT_GT(variant->values[0], last);
    last = variant->values[0];
  }
  EXPECT_EQ(last, 9);
}

}  // namespace
}  // namespace mgtune
