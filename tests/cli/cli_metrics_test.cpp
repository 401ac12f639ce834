// A user's metrics from the operator's file to every place that shows them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CliMetricsTest : public VectorAddTest {
 protected:
  CliMetricsTest() { metrics("{\"GFLOP/s\": \"flops / ns\", \"per block\": \"n / THREADS\"}"); }

  void metrics(const std::string& value) const {
    edit("add.json", "\"cost\":", "\"metrics\": " + value + ",\n  \"cost\":");
  }
  Ended sweep() { return mgtune_.run({"sweep", family_, "--gpu", "cpu", "--where", "MODE==good"}); }
};

TEST_F(CliMetricsTest, SweepShowReportAndRunHaveThem) {
  const Ended swept = sweep();
  EXPECT_EQ(swept.exit_code, 0) << swept;
  EXPECT_THAT(swept.out, AllOf(HasSubstr("GFLOP/s"), HasSubstr("per block")));

  std::filesystem::rename(family_, family_ + "_moved");  // results need no operator file
  const nlohmann::json shown = mgtune_.run({"show", "variants", "--json"}).json();
  for (const auto& variant : shown["variants"]) {
    const double ns = variant["measurement"]["median_ns"];
    EXPECT_NEAR(variant["metrics"]["GFLOP/s"], 1000 / ns, 1e-9) << variant;
    EXPECT_EQ(variant["metrics"]["per block"],
              1000.0 / variant["parameters"]["THREADS"].get<int>());
  }
  EXPECT_THAT(mgtune_.run({"show", "variants"}).out, HasSubstr("GFLOP/s"));
  EXPECT_THAT(mgtune_.run({"show", "best"}).out, HasSubstr("per block"));
  const std::string path = mgtune_.folder().file("report.json");
  const Ended report = mgtune_.run({"report", "--format", "json", "-o", path});
  EXPECT_EQ(report.exit_code, 0) << report;
  const auto problem = nlohmann::json::parse(file_content(path))["problems"][0];
  EXPECT_EQ(problem["metrics"][1]["name"], "per block");
  EXPECT_EQ(problem["metrics"][1]["values"].size(), problem["count"].get<std::size_t>());
  std::filesystem::rename(family_ + "_moved", family_);

  const Ended ran = mgtune_.run({"run", family_, "--gpu", "cpu", "--variant", "flat THREADS=64"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\nGFLOP/s "), HasSubstr("\nper block 15.62\n"))) << ran;
  const auto ran_json =
      mgtune_.run({"run", family_, "--gpu", "cpu", "--variant", "flat THREADS=64", "--json"})
          .json();
  EXPECT_EQ(ran_json["metrics"]["per block"], 15.625);

  // An edit of the metrics needs a sweep, which measures nothing again.
  edit("add.json", "\"GFLOP/s\": \"flops / ns\"", "\"GB/J\": \"2\"");
  const Ended again = sweep();
  EXPECT_THAT(again.out + again.err,
              AllOf(HasSubstr("nothing to do"), HasSubstr("GB/J"), Not(HasSubstr("GFLOP/s"))));
}

TEST_F(CliMetricsTest, AMistakeHasItsLineAndColumn) {
  edit("add.json", "flops / ns", "flops / nss");
  const Ended ended = sweep();
  expect_refused(ended, 2,
                 AllOf(HasSubstr("add.json: /metrics/GFLOP~1s: unknown name 'nss'; did you mean "
                                 "'ns'?"),
                       HasSubstr("line 10, column 26")));
}

}  // namespace
}  // namespace mgtune
