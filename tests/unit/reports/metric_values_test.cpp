#include "model/metric_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "html/sections.h"
#include "tests/helpers/made_up_report.h"
#include "text/tables.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StoredRows rows_with_metrics() {
  StoredRows rows = made_up_rows();
  rows.metrics = {{"rmsnorm.forward",
                   "rows=4096 hidden=4096 T=bf16",
                   {{"GFLOP/s", "1000000 / ns"}, {"vec", "VEC"}, {"cut", "1 +"}}},
                  {"rmsnorm.backward", "rows=4096 hidden=4096 T=bf16", {{"other", "ns"}}}};
  return rows;
}

TEST(MetricValuesTest, EveryVariantWithATimeAndThePickHaveAValue) {
  const ReportModel model = make_report_model(rows_with_metrics());
  const ReportProblem& large = model.problems[1];
  EXPECT_THAT(large.metrics, testing::ElementsAre("GFLOP/s", "vec", "cut"));
  EXPECT_TRUE(model.problems[0].metrics.empty());
  const ReportVariant& fastest = model.variants[large.first];
  EXPECT_EQ(metric_value(large, fastest.metrics, "GFLOP/s"), 50);  // 20000 ns
  EXPECT_EQ(metric_value(large, fastest.metrics, "vec"), 8);
  EXPECT_EQ(metric_value(large, fastest.metrics, "cut"), std::nullopt) << "it cannot be read";
  EXPECT_EQ(metric_value(large, fastest.metrics, "none"), std::nullopt);
  EXPECT_TRUE(model.variants[large.first + 4].metrics.empty()) << "it failed: it has no time";
  EXPECT_EQ(metric_value(large, model.picks[1].metrics, "GFLOP/s"), 50);
}

TEST(MetricValuesTest, TablesJsonAndTheReportShowThem) {
  const ReportModel model = make_report_model(rows_with_metrics());
  EXPECT_THAT(picks_table(model), HasSubstr("GFLOP/s"));
  EXPECT_THAT(variants_table(model), HasSubstr("GFLOP/s"));
  EXPECT_THAT(variants_table(model), Not(HasSubstr("cut"))) << "a column without a value";
  EXPECT_THAT(variants_section(model),
              HasSubstr("<th scope=\"col\" class=\"number\">GFLOP/s</th>"));
  const auto variants = nlohmann::json::parse(variants_json(model))["variants"];
  EXPECT_EQ(variants[model.problems[1].first]["metrics"],
            (nlohmann::json{{"GFLOP/s", 50.0}, {"vec", 8.0}, {"cut", nullptr}}));
  const auto picks = nlohmann::json::parse(picks_json(model))["picks"];
  EXPECT_EQ(picks[1]["metrics"]["GFLOP/s"], 50.0);
  EXPECT_EQ(picks[0]["metrics"], nlohmann::json::object());
}

}  // namespace
}  // namespace mgtune
