#include "analysis/best_so_far.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/import.h"
#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class BestSoFarTest : public ::testing::Test {
 protected:
  BestSoFarTest() {
    rows_.sweeps.push_back(made_up_sweep(1, kH200, "2026-11-21T09:00:00Z"));
    rows_.sweeps.push_back(made_up_sweep(2, kH200, "2026-11-21T12:00:00Z"));
  }

  void evaluate(std::int64_t sweep, const std::string& problem, Outcome outcome, double median_ns,
                std::string recorded_at) {
    const auto id = static_cast<std::int64_t>(rows_.outcomes.size()) + 1;
    rows_.outcomes.push_back(
        made_up_outcome(kH200, problem, "v" + std::to_string(id), outcome, median_ns));
    rows_.outcomes.back().id = id;
    rows_.outcomes.back().sweep = sweep;
    rows_.outcomes.back().recorded_at = std::move(recorded_at);
  }

  ReportModel model() { return make_report_model(rows_); }

  StoredRows rows_;
};

TEST_F(BestSoFarTest, StepsAreImprovementsAndFailuresCountAsEvaluations) {
  evaluate(1, "rows=1", Outcome::ok, 300, "2026-11-21T09:00:01.000Z");
  evaluate(1, "rows=1", Outcome::wrong, 0, "2026-11-21T09:00:01.500Z");
  evaluate(1, "rows=1", Outcome::raced_out, 200, "2026-11-21T09:00:02.000Z");
  evaluate(1, "rows=1", Outcome::ok, 250, "2026-11-21T09:00:02.250Z");
  evaluate(1, "rows=1", Outcome::ok, 260, "2026-11-21T09:00:03.000Z");
  const auto curves = best_so_far(model());
  ASSERT_THAT(curves, SizeIs(1));
  EXPECT_TRUE(curves[0].order_known);
  EXPECT_EQ(curves[0].evaluations, 5);
  EXPECT_DOUBLE_EQ(curves[0].seconds.value(), 3);
  ASSERT_THAT(curves[0].steps, SizeIs(2)) << "a time that racing stopped is a bound";
  EXPECT_EQ(curves[0].steps[1].evaluation, 4);
  EXPECT_DOUBLE_EQ(curves[0].steps[1].seconds.value(), 2.25);
  EXPECT_EQ(curves[0].steps[1].best_ns, 250);
}

TEST_F(BestSoFarTest, EachProblemCountsTheTimeThatItTookOverAllSweeps) {
  evaluate(1, "rows=1", Outcome::ok, 300, "2026-11-21T09:00:01.000Z");  // 1 s
  evaluate(1, "rows=2", Outcome::ok, 600, "2026-11-21T09:00:04.000Z");  // 3 s
  evaluate(1, "rows=1", Outcome::ok, 290, "2026-11-21T09:00:06.000Z");  // 2 s
  evaluate(2, "rows=1", Outcome::ok, 280, "2026-11-21T12:00:00.500Z");  // 0.5 s
  const auto curves = best_so_far(model());
  ASSERT_THAT(curves, SizeIs(2));
  EXPECT_DOUBLE_EQ(curves[0].seconds.value(), 3.5);
  EXPECT_DOUBLE_EQ(curves[1].seconds.value(), 3);
}

TEST_F(BestSoFarTest, RowsOfOlderStoresHaveAnOrderAndNoTime) {
  evaluate(1, "rows=1", Outcome::ok, 300, "");
  evaluate(1, "rows=1", Outcome::ok, 200, "2026-11-21T09:00:06.000Z");
  const auto curves = best_so_far(model());
  ASSERT_THAT(curves[0].steps, SizeIs(2));
  EXPECT_FALSE(curves[0].steps[0].seconds);
  EXPECT_FALSE(curves[0].steps[1].seconds) << "it cannot be told from what";
}

TEST_F(BestSoFarTest, ImportsHaveNoOrder) {
  rows_.sweeps[0].sweep.strategy = kImportStrategy;
  evaluate(1, "rows=1", Outcome::ok, 300, "");
  const ReportModel found = model();
  EXPECT_FALSE(found.variants[0].order);
  const auto curves = best_so_far(found);
  ASSERT_THAT(curves, SizeIs(1));
  EXPECT_FALSE(curves[0].order_known);
  EXPECT_THAT(curves[0].steps, IsEmpty());
}

TEST_F(BestSoFarTest, TheFastestOfARecordingStandsForItsPick) {
  rows_.sweeps[0].sweep.strategy = kImportStrategy;
  evaluate(1, "rows=1", Outcome::ok, 300, "");
  evaluate(1, "rows=1", Outcome::ok, 200, "");
  evaluate(2, "rows=2", Outcome::ok, 200, "");  // of a sweep that was stopped before its pick
  const ReportModel found = model();
  ASSERT_THAT(found.picks, SizeIs(1));
  EXPECT_EQ(found.picks[0].view.tuned.variant, "v2");
  EXPECT_EQ(found.picks[0].standing, PickStanding::no_default);
  EXPECT_EQ(found.verdict[0],
            "On NVIDIA H200, 1 problem has a fastest variant; the default has no time to compare "
            "with.");
}

TEST(SecondsOfUtcTest, ReadsWhatTheStoreWrites) {
  EXPECT_EQ(seconds_of_utc("1970-01-01T00:00:01Z"), 1);
  EXPECT_DOUBLE_EQ(seconds_of_utc("1970-01-02T01:01:01.250Z").value(), 90061.25);
  for (const char* text : {"", "yesterday", "2026-13-01T00:00:00Z", "2026-11-21T09:00:00"}) {
    EXPECT_FALSE(seconds_of_utc(text)) << text;
  }
}

}  // namespace
}  // namespace mgtune
