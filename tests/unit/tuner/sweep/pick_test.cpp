#include "final/pick.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace mgtune {
namespace {

// A contender whose quartiles lie `spread` below and above its median.
OutcomeRecord at(const std::string& variant, double median_ns, double spread, int registers = -1) {
  OutcomeRecord contender;
  contender.variant = variant;
  contender.build.sha256 = "sha-" + variant;
  contender.build.registers = registers;
  contender.measurement.emplace();
  contender.measurement->median_ns = median_ns;
  contender.measurement->q1_ns = median_ns - spread;
  contender.measurement->q3_ns = median_ns + spread;
  return contender;
}

TEST(Beats, NeedsQuartilesApartAndOnePercent) {
  EXPECT_TRUE(beats(at("a", 90, 4), at("b", 100, 5)));
  EXPECT_FALSE(beats(at("a", 90, 5), at("b", 100, 5)));  // quartiles touch
  EXPECT_FALSE(beats(at("a", 99, 0.1), at("b", 100, 0.1)));
  EXPECT_TRUE(beats(at("a", 98.9, 0.1), at("b", 100, 0.1)));
  EXPECT_FALSE(beats(at("a", 100, 1), at("b", 90, 1)));
  EXPECT_FALSE(beats(at("a", 100, 0), at("a", 100, 0)));
}

TEST(PickWinner, NothingOfNothing) { EXPECT_FALSE(pick_winner({}, "a").has_value()); }

TEST(PickWinner, ClearlyFasterThanTheDefault) {
  const std::vector<OutcomeRecord> all = {at("default", 100, 2), at("fast", 50, 2),
                                          at("slow", 70, 2)};
  const auto pick = pick_winner(all, "default");
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, "fast");
  EXPECT_EQ(pick->winner.build.sha256, "sha-fast");
  EXPECT_EQ(pick->default_median_ns, 100);
  EXPECT_FALSE(pick->tie);
}

TEST(PickWinner, FasterWithinNoiseIsATieAndTheDefaultStays) {
  const std::vector<OutcomeRecord> all = {at("default", 100, 10), at("faster", 92, 10)};
  const auto pick = pick_winner(all, "default");
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, "default");
  EXPECT_EQ(pick->default_median_ns, 100);
  EXPECT_TRUE(pick->tie);
}

TEST(PickWinner, UnknownRegistersAreNotFew) {
  std::vector<OutcomeRecord> all = {at("default", 100, 2, 40), at("a unknown", 50.2, 2, -1),
                                    at("known", 50.1, 2, 40), at("larger", 50, 2, 64)};
  EXPECT_EQ(pick_winner(all, "default")->winner.variant, "known");
  all[2].build.registers = all[3].build.registers = -1;
  EXPECT_EQ(pick_winner(all, "default")->winner.variant, "a unknown") << "then the first text";
}

TEST(PickWinner, FastestDefaultIsNoTie) {
  const std::vector<OutcomeRecord> all = {at("default", 80, 5), at("other", 82, 5)};
  const auto pick = pick_winner(all, "default");
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, "default");
  EXPECT_FALSE(pick->tie);
}

TEST(PickWinner, TiedWinnersGoByRegistersThenText) {
  std::vector<OutcomeRecord> all = {at("default", 100, 1, 10), at("c", 50, 3, 40),
                                    at("b", 51, 3, 32), at("a", 52, 3, 32)};
  for (int turn = 0; turn < 4; ++turn) {
    const auto pick = pick_winner(all, "default");
    ASSERT_TRUE(pick.has_value());
    EXPECT_EQ(pick->winner.variant, "a");
    EXPECT_FALSE(pick->tie);
    std::rotate(all.begin(), all.begin() + 1, all.end());
  }
}

TEST(PickWinner, OneTiedWithTheFastestMustBeatTheDefaultItself) {
  // "few" is tied with the fastest but its quartiles reach the default's.
  const std::vector<OutcomeRecord> all = {at("default", 100, 2, 8), at("fast", 80, 10, 64),
                                          at("few", 88, 12, 16)};
  const auto pick = pick_winner(all, "default");
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, "fast");
}

TEST(PickWinner, WithoutAMeasuredDefaultTheFastestServes) {
  const std::vector<OutcomeRecord> all = {at("a", 70, 1), at("b", 60, 1)};
  const auto pick = pick_winner(all, "default");
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, "b");
  EXPECT_EQ(pick->default_median_ns, 0);
  EXPECT_FALSE(pick->tie);
}

}  // namespace
}  // namespace mgtune
