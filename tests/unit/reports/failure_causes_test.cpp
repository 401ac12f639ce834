// The variants that failed, grouped by cause, with what they have in common.

#include "analysis/failure_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/helpers/made_up_report.h"
#include "text/failures.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

struct Point {
  std::string dtype, gelu, threads;
};

// All combinations; those for which `fails` is true are wrong, each at another element.
template <typename Fails>
ReportModel model_where(const Fails& fails) {
  StoredRows rows;
  int number = 0;
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* gelu : {"tanh", "erf"}) {
      for (const char* threads : {"128", "256", "512"}) {
        const Point point{dtype, gelu, threads};
        const bool is_wrong = fails(point);
        rows.outcomes.push_back(
            made_up_outcome(kH200, std::string("rows=4 T=") + dtype,
                            std::string("row GELU=") + gelu + " THREADS=" + threads,
                            is_wrong ? Outcome::wrong : Outcome::ok, is_wrong ? 0 : 10));
        if (!is_wrong) continue;
        ++number;
        rows.outcomes.back().message =
            "y[" + std::to_string(number) +
            ", 17] is 0.5, the reference says -0.25; relative L2 "
            "error " +
            (number == 2 ? std::string("7.79e-05") : "0.00" + std::to_string(number)) +
            " is above 1e-07";
      }
    }
  }
  return make_report_model(std::move(rows));
}

TEST(FailureCausesTest, NamesTheSmallestConjunctionThatAllHave) {
  const ReportModel model =
      model_where([](const Point& p) { return p.dtype == "f32" && p.gelu == "tanh"; });
  const std::vector<FailureCause> causes = failure_causes(model);
  ASSERT_THAT(causes, SizeIs(1)) << "the numbers of a message do not make causes";
  EXPECT_THAT(causes[0].conditions,
              ElementsAre(Assignment("GELU", "tanh"), Assignment("T", "f32")));
  EXPECT_TRUE(causes[0].is_every());
  EXPECT_THAT(causes[0].variants, SizeIs(3));
  EXPECT_THAT(causes_text(model),
              HasSubstr("  wrong: every variant with GELU=tanh and T=f32 (3): y[1, 17] is 0.5"));
}

TEST(FailureCausesTest, AValueThatIsNotNeededIsLeftOut) {
  const ReportModel model = model_where([](const Point& p) { return p.threads == "512"; });
  EXPECT_THAT(failure_causes(model).at(0).conditions, ElementsAre(Assignment("THREADS", "512")));
}

TEST(FailureCausesTest, SaysEveryOnlyOfAll) {
  const ReportModel model = model_where(
      [](const Point& p) { return p.dtype == "f32" && !(p.gelu == "erf" && p.threads == "128"); });
  const FailureCause cause = failure_causes(model).at(0);
  EXPECT_FALSE(cause.is_every());
  EXPECT_EQ(cause.matching, 6U);
  const std::string text = causes_text(model);
  EXPECT_THAT(text, HasSubstr("wrong: 5 of 6 variants with T=f32: "));
  EXPECT_THAT(
      text, HasSubstr("2 of 2 with THREADS=256, 2 of 2 with THREADS=512, 1 of 2 with THREADS=128"));
  EXPECT_THAT(text, Not(HasSubstr("every")));
}

TEST(FailureCausesTest, WhenAllFailNoValueIsToBlame) {
  const ReportModel model = model_where([](const Point&) { return true; });
  EXPECT_THAT(failure_causes(model).at(0).conditions, IsEmpty());
  EXPECT_THAT(causes_text(model), HasSubstr("wrong: every variant (12): "));
}

TEST(FailureCausesTest, TwoValuesOfOneNameAreNoConjunction) {
  const ReportModel model = model_where([](const Point& p) { return p.threads != "128"; });
  EXPECT_THAT(causes_text(model), HasSubstr("8 of 12 variants: "));
  EXPECT_THAT(causes_text(model), HasSubstr("0 of 4 with THREADS=128"));
}

TEST(FailureCausesTest, OutcomesAndMessagesAreCausesOfTheirOwn) {
  const ReportModel model = make_report_model(made_up_rows());
  EXPECT_THAT(failure_causes(model), SizeIs(model.failures.size()));
  EXPECT_THAT(causes_text(model, 1), HasSubstr("  and 1 other cause\n"));
  EXPECT_THAT(failures_in_full(model), HasSubstr("In file included")) << "the whole message";
}

TEST(FailureCausesTest, NothingFailedIsNoText) {
  EXPECT_EQ(causes_text(make_report_model({})), "");
}

}  // namespace
}  // namespace mgtune
