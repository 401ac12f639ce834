#include "analysis/size_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

ReportModel model_of(const std::vector<std::tuple<std::string, std::string, double>>& picks) {
  StoredRows rows;
  for (const auto& [problem, variant, bytes] : picks) {
    rows.tuned.push_back(made_up_pick(kH200, problem, variant, bytes / 4, "d", bytes / 2));
    rows.tuned.back().bytes = bytes;
  }
  return make_report_model(std::move(rows));
}

TEST(SizeSeriesTest, ProblemsThatDifferInOneNumberAreASeries) {
  const ReportModel model = model_of({{"rows=1024 hidden=64 T=bf16", "b", 1024},
                                      {"rows=64 hidden=64 T=bf16", "a", 64},
                                      {"rows=256 hidden=64 T=bf16", "a", 256},
                                      {"rows=64 hidden=64 T=f32", "a", 128}});
  const auto series = size_series(model);
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(series[0].dim, "rows");
  ASSERT_THAT(series[0].points, SizeIs(3));
  EXPECT_EQ(series[0].points[0].size, 64);
  EXPECT_EQ(series[0].points[2].size, 1024);
  ASSERT_THAT(series[0].boundaries, SizeIs(1)) << "between two sizes with one pick there is none";
  EXPECT_DOUBLE_EQ(series[0].boundaries[0].at, 512);
  EXPECT_EQ(series[0].boundaries[0].below, "a");
  EXPECT_EQ(series[0].boundaries[0].above, "b");
  EXPECT_EQ(series[0].fixed.size(), 2u);
  EXPECT_EQ(series[1].dim, "bytes");
  EXPECT_THAT(series[1].points, SizeIs(4));
  EXPECT_THAT(series[1].boundaries, IsEmpty());
  ASSERT_THAT(series[1].fixed, SizeIs(1));
  EXPECT_EQ(series[1].fixed[0].first, "hidden");
}

TEST(SizeSeriesTest, ProblemsThatMoveAsManyBytesAreNoSeriesByBytes) {
  const auto series =
      size_series(model_of({{"rows=64 hidden=128", "a", 8192}, {"rows=128 hidden=64", "b", 8192}}));
  EXPECT_THAT(series, IsEmpty()) << "a vertical line says nothing of size";
}

TEST(SizeSeriesTest, OneProblemIsNone) {
  EXPECT_THAT(size_series(model_of({{"rows=64", "a", 64}})), IsEmpty());
}

TEST(SizeSeriesTest, MethodsAndGpusAreApart) {
  StoredRows rows;
  rows.tuned.push_back(made_up_pick(kH200, "rows=1", "a", 10, "d", 20));
  rows.tuned.push_back(made_up_pick(kH200, "rows=2", "a", 10, "d", 20));
  rows.tuned.back().tuned.method = "graph";
  rows.tuned.push_back(made_up_pick(kCpu, "rows=2", "a", 10, "d", 20));
  EXPECT_THAT(size_series(make_report_model(std::move(rows))), IsEmpty());
}

}  // namespace
}  // namespace mgtune
