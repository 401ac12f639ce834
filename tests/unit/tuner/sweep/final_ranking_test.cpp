#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "final/pick.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

constexpr int kRounds = 40;

OutcomeRecord entry(const std::string& variant, double median_ns, int registers = 32) {
  OutcomeRecord contender;
  contender.variant = variant;
  contender.build.sha256 = "sha-" + variant;
  contender.build.registers = registers;
  contender.key.launch_hash = "launch";
  contender.measurement.emplace();
  contender.measurement->median_ns = median_ns;
  contender.measurement->q1_ns = median_ns;
  contender.measurement->q3_ns = median_ns;
  return contender;
}

// Rounds of a GPU that drifts by 5 % and of which each sample is `noise` off.
class Rounds {
 public:
  Samples of(double time_ns, double noise = 0.002) {
    std::normal_distribution<double> off(0, noise);
    Samples samples;
    for (int round = 0; round < kRounds; ++round) {
      const double drift = 1 + 0.05 * round / kRounds;
      samples.push_back(time_ns * drift * (1 + off(random_)));
    }
    return samples;
  }

 private:
  std::mt19937_64 random_{7};
};

std::vector<std::string> names(const std::vector<OutcomeRecord>& entries) {
  std::vector<std::string> names;
  for (const OutcomeRecord& contender : entries) names.push_back(contender.variant);
  return names;
}

std::vector<std::string> tied(const FinalRanking& ranking) {
  std::vector<std::string> names;
  for (const FinalistRecord& finalist : ranking.finalists) {
    if (finalist.tied) names.push_back(finalist.variant);
  }
  return names;
}

TEST(FinalEntries, TheDefaultAndTheFastest) {
  const std::vector<OutcomeRecord> contenders = {entry("d", 20), entry("a", 12), entry("b", 10),
                                                 entry("c", 11), entry("e", 12.6)};
  EXPECT_THAT(names(final_entries(contenders, "d", 2)), ElementsAre("d", "b", "c"));
  EXPECT_THAT(names(final_entries(contenders, "d", 9)), ElementsAre("d", "b", "c", "a"))
      << "e took a quarter longer";
  EXPECT_THAT(names(final_entries(contenders, "b", 2)), ElementsAre("b", "c", "a"));
  EXPECT_THAT(names(final_entries(contenders, "failed", 2)), ElementsAre("b", "c"));
  EXPECT_TRUE(final_entries({}, "d", 2).empty());
}

TEST(FinalEntries, WhatTookOverAResultLeavesItsPlaceToAnother) {
  std::vector<OutcomeRecord> contenders = {entry("a", 100), entry("b", 100), entry("c", 101)};
  contenders[1].measurement->note = "as a, which has the same code";
  EXPECT_THAT(names(final_entries(contenders, "c", 9)), ElementsAre("c", "a"));
  EXPECT_THAT(names(final_entries(contenders, "b", 9)), ElementsAre("b", "a", "c"));
  contenders.erase(contenders.begin());
  EXPECT_THAT(names(final_entries(contenders, "c", 9)), ElementsAre("c", "b"));
}

TEST(NoiseFloor, IsWhatTwoEntriesOfOneVariantDifferBy) {
  Rounds rounds;
  const Samples a = rounds.of(100);
  EXPECT_EQ(noise_floor(a, a), 0);
  const double floor = noise_floor(a, rounds.of(100));
  EXPECT_GT(floor, 0);
  EXPECT_LT(floor, 0.003) << "the drift is in both";
  EXPECT_NEAR(noise_floor(a, rounds.of(102)), 0.02, 0.003);
}

TEST(RankFinal, RatiosSeeThroughDrift) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 100), entry("a", 97), entry("b", 102)};
  const std::vector<Samples> samples = {rounds.of(100), rounds.of(98), rounds.of(103)};
  const FinalRanking ranking = rank_final(entries, samples, "d", 0.001);
  ASSERT_EQ(ranking.finalists.size(), 3U);
  EXPECT_EQ(ranking.finalists[0].variant, "a");
  EXPECT_NEAR(ranking.finalists[0].ratio, 0.98, 0.001);
  EXPECT_LT(ranking.finalists[0].ratio_low, ranking.finalists[0].ratio);
  EXPECT_GT(ranking.finalists[0].ratio_high, ranking.finalists[0].ratio);
  EXPECT_LT(ranking.finalists[0].ratio_high, 0.983);
  EXPECT_EQ(ranking.finalists[1].variant, "d");
  EXPECT_EQ(ranking.finalists[1].ratio, 1);
  EXPECT_EQ(ranking.finalists[2].variant, "b");
  EXPECT_EQ(ranking.finalists[2].samples_ns, samples[2]);
  EXPECT_EQ(ranking.pick.winner.variant, "a");
  EXPECT_EQ(ranking.pick.winner.build.sha256, "sha-a");
  EXPECT_NEAR(ranking.pick.winner.measurement->median_ns, 98 * 1.025, 0.5);
  EXPECT_NEAR(ranking.pick.default_median_ns, 100 * 1.025, 0.5);
  EXPECT_FALSE(ranking.pick.tie);
  EXPECT_THAT(tied(ranking), ElementsAre("a"));
}

TEST(RankFinal, WithinTheNoiseTheDefaultStays) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 100), entry("a", 97)};
  const std::vector<Samples> samples = {rounds.of(100), rounds.of(98)};
  const FinalRanking ranking = rank_final(entries, samples, "d", 0.03);
  EXPECT_EQ(ranking.pick.winner.variant, "d");
  EXPECT_TRUE(ranking.pick.tie);
  EXPECT_THAT(tied(ranking), ElementsAre("a", "d"));
}

TEST(RankFinal, HalfAPercentIsNeverAWin) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 100), entry("a", 97)};
  const std::vector<Samples> samples = {rounds.of(100, 0.0001), rounds.of(99.6, 0.0001)};
  EXPECT_EQ(rank_final(entries, samples, "d", 0.0001).pick.winner.variant, "d");
}

TEST(RankFinal, ADefaultThatIsFastestIsNoTie) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 100), entry("a", 97)};
  const std::vector<Samples> samples = {rounds.of(95), rounds.of(100)};
  const FinalRanking ranking = rank_final(entries, samples, "d", 0.001);
  EXPECT_EQ(ranking.pick.winner.variant, "d");
  EXPECT_FALSE(ranking.pick.tie);
}

TEST(RankFinal, OfThoseTiedTheFewestRegistersWin) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 120), entry("a", 100, 64),
                                              entry("b", 100, 40), entry("c", 110, 8)};
  const std::vector<Samples> samples = {rounds.of(120), rounds.of(100), rounds.of(100.2),
                                        rounds.of(110)};
  const FinalRanking ranking = rank_final(entries, samples, "d", 0.001);
  EXPECT_EQ(ranking.pick.winner.variant, "b");
  EXPECT_FALSE(ranking.pick.tie);
  EXPECT_THAT(tied(ranking), ElementsAre("a", "b"));
}

TEST(RankFinal, UnknownRegistersAreNotFew) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 120), entry("a", 100, -1),
                                              entry("b", 100, 40)};
  const std::vector<Samples> samples = {rounds.of(120), rounds.of(100), rounds.of(100.2)};
  EXPECT_EQ(rank_final(entries, samples, "d", 0.001).pick.winner.variant, "b");
}

TEST(RankFinal, WithoutADefaultTheFastestWins) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("a", 100), entry("b", 110)};
  const std::vector<Samples> samples = {rounds.of(100), rounds.of(110)};
  const FinalRanking ranking = rank_final(entries, samples, "failed", 0.001);
  EXPECT_EQ(ranking.pick.winner.variant, "a");
  EXPECT_EQ(ranking.pick.default_median_ns, 0);
  EXPECT_FALSE(ranking.pick.tie);
}

// A hundred finals of equal variants: none may call one of them faster than the default.
TEST(RankFinal, EqualVariantsNeverBeatTheDefault) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 100), entry("a", 99), entry("b", 98),
                                              entry("c", 99)};
  for (int i = 0; i < 100; ++i) {
    const std::vector<Samples> samples = {rounds.of(100, 0.01), rounds.of(100, 0.01),
                                          rounds.of(100, 0.01), rounds.of(100, 0.01)};
    const double noise = noise_floor(rounds.of(100, 0.01), samples[0]);
    EXPECT_EQ(rank_final(entries, samples, "d", noise).pick.winner.variant, "d") << i;
  }
}

// And of variants of which one is 3 % faster: it is found.
TEST(RankFinal, ThreePercentAreFound) {
  Rounds rounds;
  const std::vector<OutcomeRecord> entries = {entry("d", 100), entry("a", 99), entry("b", 98)};
  for (int i = 0; i < 100; ++i) {
    const std::vector<Samples> samples = {rounds.of(100, 0.005), rounds.of(97, 0.005),
                                          rounds.of(100, 0.005)};
    const double noise = noise_floor(rounds.of(100, 0.005), samples[0]);
    EXPECT_EQ(rank_final(entries, samples, "d", noise).pick.winner.variant, "a") << i;
  }
}

}  // namespace
}  // namespace mgtune
