#include "compare/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::SizeIs;

ReportModel model_of(std::vector<TunedView> picks) {
  StoredRows rows;
  rows.tuned = std::move(picks);
  return make_report_model(std::move(rows));
}

TEST(BaselineTest, PicksAreHeldAgainstThoseOfTheSamePlace) {
  const ReportModel ours = model_of({made_up_pick(kH200, "rows=1", "new", 50, "d", 100),
                                     made_up_pick(kH200, "rows=2", "new", 100, "d", 100),
                                     made_up_pick(kH200, "rows=3", "new", 130, "d", 100)});
  TunedView graph = made_up_pick(kH200, "rows=3", "old", 100, "d", 100);
  graph.tuned.method = "graph";
  const ReportModel old = model_of({made_up_pick(kH200, "rows=1", "old", 100, "d", 100),
                                    made_up_pick(kH200, "rows=2", "new", 100, "d", 100), graph});
  const auto against = against_baseline(ours, old);
  ASSERT_THAT(against, SizeIs(3));
  ASSERT_TRUE(against[0]);
  EXPECT_EQ(against[0]->variant, "old");
  EXPECT_EQ(against[0]->time_ns, 100);
  EXPECT_NEAR(against[0]->speedup, 2, 1e-9);
  EXPECT_LT(against[0]->speedup_low, 2);
  EXPECT_GT(against[0]->speedup_high, 2);
  EXPECT_EQ(against[0]->verdict, Verdict::faster);
  EXPECT_EQ(against[1]->verdict, Verdict::same);
  EXPECT_FALSE(against[2]) << "another method";
}

TEST(BaselineTest, ADatabaseIsTheSameAsItself) {
  const auto emulated = [](double median_ns) {
    return model_of({made_up_pick(kCpu, "rows=1", "a", median_ns, "d", 100)});
  };
  EXPECT_EQ(against_baseline(emulated(50), emulated(50))[0]->verdict, Verdict::same);
  EXPECT_EQ(against_baseline(emulated(50), emulated(51))[0]->verdict, Verdict::unsure);
}

TEST(BaselineTest, EmulationAndGpusAreNeverCompared) {
  const ReportModel ours = model_of({made_up_pick(kH200, "rows=1", "a", 50, "d", 100)});
  const ReportModel old = model_of({made_up_pick(kCpu, "rows=1", "a", 50, "d", 100)});
  EXPECT_FALSE(against_baseline(ours, old)[0]);
}

}  // namespace
}  // namespace mgtune
