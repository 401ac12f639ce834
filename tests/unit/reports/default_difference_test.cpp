#include "model/default_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kProblem[] = "rows=4096 hidden=4096 T=bf16";

// Variants of `row` whose time hangs on VEC far more than on THREADS, not at all on ROWS.
StoredRows timed_rows() {
  StoredRows rows;
  for (const int vec : {1, 2, 4, 8}) {
    for (const int threads : {128, 256}) {
      for (const int count : {1, 2}) {
        const std::string text = "row VEC=" + std::to_string(vec) +
                                 " THREADS=" + std::to_string(threads) +
                                 " ROWS=" + std::to_string(count);
        const double time_ns = 10000.0 / vec * (threads == 128 ? 1.1 : 1);
        rows.outcomes.push_back(made_up_outcome(kH200, kProblem, text, Outcome::ok, time_ns));
      }
    }
  }
  return rows;
}

std::vector<std::string> sentences(StoredRows rows, const std::string& pick,
                                   const std::string& standard, double default_ns = 5500,
                                   bool tie = false) {
  rows.tuned.push_back(made_up_pick(kH200, kProblem, pick, 1250, standard, default_ns, tie));
  const ReportModel model = make_report_model(std::move(rows));
  return difference_sentences(model, analyze(model), model.picks.front());
}

TEST(DefaultDifferenceTest, NamesWhatDiffersAndWhatMattersMostOfIt) {
  EXPECT_THAT(
      sentences(timed_rows(), "row VEC=8 THREADS=256 ROWS=1", "row VEC=2 THREADS=128 ROWS=1"),
      ElementsAre(
          "The pick differs from the default in 2 of 3 parameters (default -> pick): "
          "VEC 2 -> 8, THREADS 128 -> 256.",
          "Of what differs, VEC matters most: among the 16 timed variants of row, changing VEC "
          "alone accounts for 100 % of the variation of the time."));
}

TEST(DefaultDifferenceTest, WhatMattersMostIsOneOfThoseThatDiffer) {
  EXPECT_THAT(
      sentences(timed_rows(), "row VEC=8 THREADS=256 ROWS=1", "row VEC=8 THREADS=128 ROWS=1"),
      ElementsAre("The pick differs from the default in 1 of 3 parameters (default -> pick): "
                  "THREADS 128 -> 256.",
                  "Among the 16 timed variants of row, changing THREADS alone accounts for less "
                  "than 1 % of the variation of the time."))
      << "VEC matters more, and does not differ";
}

TEST(DefaultDifferenceTest, AnAverageIsCalledOne) {
  StoredRows rows;
  for (int i = 0; i < 12; ++i) {  // no two differ in VEC alone
    const std::string text = "row VEC=" + std::to_string(i % 2) + " SEED=" + std::to_string(i);
    rows.outcomes.push_back(
        made_up_outcome(kH200, kProblem, text, Outcome::ok, i % 2 == 0 ? 2000 : 1000 + i));
  }
  EXPECT_THAT(sentences(std::move(rows), "row VEC=1 SEED=1", "row VEC=0 SEED=1").back(),
              HasSubstr("the values of VEC account on average for 100 % of"));
}

TEST(DefaultDifferenceTest, AnotherDesignIsSaidFirst) {
  EXPECT_THAT(
      sentences(timed_rows(), "row VEC=8 THREADS=256 ROWS=1", "bulk VEC=4 THREADS=256 CLUSTER=2"),
      ElementsAre(
          "The pick is of another design than the default: row instead of bulk.",
          "Of the 2 parameters that both have, 1 differs (default -> pick): VEC 4 -> 8.",
          "Only the pick has ROWS=1.", "Only the default has CLUSTER=2.",
          "Of what differs, VEC matters most: among the 16 timed variants of row, changing VEC "
          "alone accounts for 100 % of the variation of the time."));
  EXPECT_THAT(sentences({}, "fused", "plain"),
              ElementsAre("The pick is of another design than the default: fused instead of "
                          "plain."));
}

TEST(DefaultDifferenceTest, TooFewVariantsSayNothingOfImportance) {
  StoredRows rows = timed_rows();
  rows.outcomes.resize(kFewestForImportance - 1);
  EXPECT_THAT(
      sentences(std::move(rows), "row VEC=2 THREADS=256 ROWS=1", "row VEC=1 THREADS=256 ROWS=1"),
      ElementsAre(HasSubstr("VEC 1 -> 2.")));
}

TEST(DefaultDifferenceTest, APickThatIsTheDefaultIsCalledSo) {
  const std::string same = "row VEC=8 THREADS=256 ROWS=1";
  EXPECT_THAT(sentences(timed_rows(), same, same, 1250),
              ElementsAre("The pick is the default itself: no other variant was faster."));
  EXPECT_THAT(sentences(timed_rows(), same, same, 1250, true),
              ElementsAre("The pick is the default itself: nothing beat it beyond noise."));
}

TEST(DefaultDifferenceTest, ADefaultWithoutATimeIsSaid) {
  EXPECT_THAT(sentences({}, "row VEC=8", "row VEC=16", 0),
              ElementsAre("The default has no time on this problem.",
                          "The pick differs from the default in 1 of 1 parameter (default -> "
                          "pick): VEC 16 -> 8."));
  EXPECT_THAT(sentences({}, "row VEC=8", "", 0),
              ElementsAre("The default has no time on this problem."));
}

}  // namespace
}  // namespace mgtune
