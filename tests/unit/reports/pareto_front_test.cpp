#include "analysis/pareto_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "document/markdown.h"
#include "document/report_document.h"
#include "html/sections.h"
#include "tests/helpers/made_up_report.h"
#include "text/tables.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

FinalRecord final_of(std::initializer_list<std::pair<double, double>> times_and_energies) {
  FinalRecord final;
  for (const auto& [time_ns, joules] : times_and_energies) {
    FinalistRecord& finalist = final.finalists.emplace_back();
    finalist.variant = kFastVariant;
    finalist.median_ns = time_ns;
    finalist.energy_j = joules;
    finalist.energy_error_j = joules / 100;
    finalist.ratio = 1;
    finalist.samples_ns = {time_ns};
  }
  return final;
}

TEST(ParetoFrontTest, WhatNoOtherFinalistBeatsInBoth) {
  EXPECT_THAT(pareto_front(final_of({{10, 5}, {11, 4}, {12, 4.5}, {13, 3}})),
              ElementsAre(true, true, false, true));
  EXPECT_THAT(pareto_front(final_of({{10, 3}, {10, 3}, {10, 4}})), ElementsAre(true, true, false))
      << "equal ones do not beat each other";
  EXPECT_THAT(pareto_front(final_of({{10, 5}, {11, 0}})), ElementsAre(false, false))
      << "not all have an energy";
}

StoredRows rows_with_final(FinalRecord final) {
  StoredRows rows = made_up_rows();
  const TunedView& pick = rows.tuned[1];
  final.sweep = 2;
  final.gpu = pick.tuned.gpu;
  final.method = pick.tuned.method;
  rows.finals = {{std::move(final), pick.gpu, pick.op, pick.problem}};
  return rows;
}

TEST(ParetoFrontTest, TablesAndReportsShowEnergiesAndTheFront) {
  const ReportModel model =
      make_report_model(rows_with_final(final_of({{20000, 0.0125}, {21000, 0.0130}})));
  ASSERT_EQ(model.finals.size(), 1U);
  EXPECT_THAT(finals_table(model), AllOf(HasSubstr("12.50 mJ"), HasSubstr("125.0 uJ"),
                                         HasSubstr("front: no other finalist")));
  EXPECT_THAT(energy_section(model), AllOf(HasSubstr("12.50 mJ"), HasSubstr("Pareto front")));
  const ReportAnalysis analysis = analyze(model);
  EXPECT_THAT(report_markdown(model, analysis, {}), HasSubstr("## Energy of the finalists"));
  const auto document = nlohmann::json::parse(report_document(model, analysis, {}));
  const auto& finalists = document["finals"][0]["finalists"];
  EXPECT_EQ(finalists[0]["energy_j"], 0.0125);
  EXPECT_EQ(finalists[0]["is_on_front"], true);
  EXPECT_EQ(finalists[1]["is_on_front"], false);
}

TEST(ParetoFrontTest, WithoutEnergiesNothingIsSaidOfThem) {
  const ReportModel model = make_report_model(rows_with_final(final_of({{20000, 0}, {21000, 0}})));
  EXPECT_THAT(finals_table(model), AllOf(Not(HasSubstr("energy")), Not(HasSubstr("front"))));
  EXPECT_THAT(energy_section(model), IsEmpty());
  const ReportAnalysis analysis = analyze(model);
  EXPECT_THAT(report_markdown(model, analysis, {}), Not(HasSubstr("Energy")));
  const auto document = nlohmann::json::parse(report_document(model, analysis, {}));
  EXPECT_FALSE(document["finals"][0]["finalists"][0].contains("energy_j"));
}

}  // namespace
}  // namespace mgtune
