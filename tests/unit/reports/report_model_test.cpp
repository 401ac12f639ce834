#include "model/report_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <tuple>

#include "analysis/analysis.h"
#include "document/report_document.h"
#include "model/verdict.h"
#include "tests/helpers/made_up_report.h"
#include "text/units.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> variant_names(const ReportModel& model, const ReportProblem& problem) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < problem.count; ++i) {
    names.push_back(model.variants[problem.first + i].view.variant);
  }
  return names;
}

TEST(ReportModelTest, OrdersProblemsAsNumbersAndGpusBeforeEmulation) {
  const ReportModel model = make_report_model(made_up_rows());
  ASSERT_THAT(model.problems, SizeIs(3));
  std::vector<std::string> problems;
  for (const ReportProblem& problem : model.problems) {
    problems.push_back(model.variants[problem.first].view.problem);
  }
  EXPECT_THAT(problems, ElementsAre("rows=64 hidden=4096 T=bf16", "rows=4096 hidden=4096 T=bf16",
                                    "rows=64 hidden=256 T=f32"));
  EXPECT_FALSE(model.picks[0].view.gpu.emulation);
  EXPECT_TRUE(model.picks[2].view.gpu.emulation);
}

TEST(ReportModelTest, OrdersVariantsFastestFirstRacedOutThenFailures) {
  const ReportModel model = make_report_model(made_up_rows());
  EXPECT_THAT(variant_names(model, model.problems[1]),
              ElementsAre(kFastVariant, kDefaultVariant, "row VEC=1", "row VEC=2", "row VEC=16",
                          "row VEC=32"));
  const auto& large = model.problems[1];
  EXPECT_DOUBLE_EQ(model.variants[large.first].slowdown.value(), 1.0);
  EXPECT_DOUBLE_EQ(model.variants[large.first + 1].slowdown.value(), 1.5);
  EXPECT_DOUBLE_EQ(model.variants[large.first + 2].slowdown.value(), 3.0);
  EXPECT_FALSE(model.variants[large.first + 3].slowdown.has_value());
}

TEST(ReportModelTest, MethodsAreNeverRankedTogether) {
  StoredRows rows;
  const std::string problem = "rows=1";
  rows.outcomes.push_back(made_up_outcome(kH200, problem, "slow", Outcome::ok, 300));
  rows.outcomes.push_back(made_up_outcome(kH200, problem, "fast", Outcome::ok, 200));
  rows.outcomes.push_back(made_up_outcome(kH200, problem, "hot", Outcome::ok, 100));
  rows.outcomes.back().measurement->method = "hot";
  rows.outcomes.push_back(made_up_outcome(kH200, problem, "graph", Outcome::raced_out, 50));
  rows.outcomes.back().measurement->method = "graph";
  const ReportModel model = make_report_model(std::move(rows));
  EXPECT_THAT(variant_names(model, model.problems[0]), ElementsAre("graph", "hot", "fast", "slow"));
  EXPECT_FALSE(model.variants[0].slowdown) << "no variant of this method ran to its end";
  EXPECT_DOUBLE_EQ(model.variants[1].slowdown.value(), 1.0);
  EXPECT_DOUBLE_EQ(model.variants[2].slowdown.value(), 1.0);
  EXPECT_DOUBLE_EQ(model.variants[3].slowdown.value(), 1.5);
}

TEST(ReportModelTest, PicksHaveSpeedupBandwidthAndCounts) {
  const ReportModel model = make_report_model(made_up_rows());
  ASSERT_THAT(model.picks, SizeIs(3));
  const ReportPick& large = model.picks[1];
  EXPECT_EQ(large.standing, PickStanding::faster);
  EXPECT_DOUBLE_EQ(large.speedup.value(), 1.5);
  EXPECT_DOUBLE_EQ(large.bandwidth_gbps.value(), 67117056 / 20000.0);
  EXPECT_EQ(large.variants_ok, 2);
  EXPECT_EQ(large.variants_failed, 3);
  EXPECT_EQ(model.picks[0].standing, PickStanding::tie);
  EXPECT_FALSE(model.picks[2].bandwidth_gbps) << "emulation moves no GPU memory";
}

TEST(ReportModelTest, APickIsHeldAgainstTheCopyOfItsBytes) {
  StoredRows rows = made_up_rows();
  for (TunedView& row : rows.tuned) row.copy_ns = row.gpu.emulation ? 0 : 19'000;
  const ReportModel model = make_report_model(std::move(rows));
  EXPECT_DOUBLE_EQ(model.picks[1].of_copy.value(), 0.95);
  EXPECT_FALSE(model.picks[2].of_copy) << "none was measured";
}

TEST(ReportModelTest, StandingWithoutADefaultTimeAndWithTheDefaultFastest) {
  StoredRows rows;
  rows.tuned.push_back(made_up_pick(kH200, "rows=1", "a", 10, "b", 0));
  rows.tuned.push_back(made_up_pick(kH200, "rows=2", "a", 10, "a", 10));
  const ReportModel model = make_report_model(std::move(rows));
  EXPECT_EQ(model.picks[0].standing, PickStanding::no_default);
  EXPECT_FALSE(model.picks[0].speedup);
  EXPECT_EQ(model.picks[1].standing, PickStanding::default_fastest);
  EXPECT_EQ(to_string(PickStanding::default_fastest), "default_fastest");
}

TEST(ReportModelTest, MarksPicksAndDefaultsOfTheirProblemOnly) {
  const ReportModel model = make_report_model(made_up_rows());
  const auto& small = model.problems[0];
  EXPECT_TRUE(model.variants[small.first + 1].is_pick);
  EXPECT_TRUE(model.variants[small.first + 1].is_default);
  EXPECT_FALSE(model.variants[small.first].is_pick) << "the fast variant is a pick elsewhere";
  const auto& large = model.problems[1];
  EXPECT_TRUE(model.variants[large.first].is_pick);
  EXPECT_FALSE(model.variants[large.first].is_default);
}

TEST(ReportModelTest, CountsOutcomesAndGroupsEqualFailures) {
  const ReportModel model = make_report_model(made_up_rows());
  ASSERT_THAT(model.counts, SizeIs(4));
  EXPECT_EQ(model.counts[0].outcome, Outcome::ok);
  EXPECT_EQ(model.counts[0].count, 6);
  EXPECT_EQ(model.counts[2].outcome, Outcome::compile_failed);
  EXPECT_EQ(model.counts[2].count, 2);
  ASSERT_THAT(model.failures, SizeIs(2));
  EXPECT_EQ(model.failures[0].outcome, Outcome::wrong);
  EXPECT_THAT(model.failures[1].variants, SizeIs(2));
}

TEST(ReportModelTest, RulesOfItsProblemsAreInTheDocumentWithTheirCounts) {
  StoredRows rows = made_up_rows();
  const OutcomeView shown = rows.outcomes.front();
  SpaceView space{1, shown.gpu_id, shown.op, shown.problem, {"row", 100, 60, true, "", {}}};
  space.space.pruned = {{"VEC <= 8", 30}, {"hidden % VEC == 0", 10}};
  rows.spaces.push_back(space);
  space.space = {"cluster", 64, 0, true, "requires device.cc >= 90", {}};
  rows.spaces.push_back(space);
  space.problem = "of another report";
  rows.spaces.push_back(space);
  const ReportModel model = make_report_model(std::move(rows));
  ASSERT_THAT(model.spaces, SizeIs(2));
  const std::string document = report_document(model, analyze(model), {});
  for (const char* part : {R"("design":"row","rule":"VEC <= 8","count":30)",
                           R"("rule":"hidden % VEC == 0","count":10)",
                           R"("design":"cluster","rule":"requires device.cc >= 90","count":64)"}) {
    EXPECT_THAT(document, testing::HasSubstr(part));
  }
}

TEST(ReportModelTest, FailuresOfOneKindBringTheMostFrequentMessageFirst) {
  StoredRows rows;
  for (const char* message : {"once", "twice", "twice"}) {
    rows.outcomes.push_back(made_up_outcome(
        kH200, "rows=1", "v" + std::to_string(rows.outcomes.size()), Outcome::crashed));
    rows.outcomes.back().message = message;
  }
  const ReportModel model = make_report_model(std::move(rows));
  ASSERT_THAT(model.failures, SizeIs(2));
  EXPECT_EQ(model.failures[0].message, "twice");
}

TEST(ReportModelTest, SweepsAreNewestFirst) {
  const ReportModel model = make_report_model(made_up_rows());
  EXPECT_EQ(model.sweeps.front().sweep.id, 2);
  EXPECT_EQ(model.sweeps.back().sweep.id, 1);
}

TEST(ReportModelTest, VerdictNamesGainTiesFailuresAndEmulation) {
  const ReportModel model = make_report_model(made_up_rows());
  EXPECT_THAT(
      model.verdict,
      ElementsAre(
          "On NVIDIA H200, the tuned variant beats the default on 1 of 2 problems, by 1.50x "
          "(rmsnorm.forward rows=4096 hidden=4096 T=bf16); on 1 the default stays, as nothing "
          "beats "
          "it beyond noise.",
          "On the cpu device (emulation), 1 problem has a checked variant.",
          "10 variants evaluated, 3 failed (1 wrong, 2 compile_failed); a variant that failed is "
          "never dispatched. 1 was stopped early, as clearly slower than the best until then."));
}

TEST(ReportModelTest, VerdictSaysHowMuchOfTheSpaceWasTried) {
  StoredRows rows = made_up_rows();
  std::set<std::tuple<std::int64_t, std::string, std::string>> problems;
  for (const OutcomeView& view : rows.outcomes) {
    problems.emplace(view.gpu_id, view.op, view.problem);
  }
  for (const auto& [gpu, op, problem] : problems) {
    rows.spaces.push_back({1, gpu, op, problem, {"row", 400, 100, true, "", {}}});
    rows.spaces.push_back({1, gpu, op, problem, {"cluster", 400, 7, true, "device.cc >= 90", {}}});
  }
  for (SweepView& view : rows.sweeps) view.sweep.finished_at = "2026-11-21T10:00:00Z";
  const std::string admit =
      fmt::format("10 variants evaluated of {} that the constraints admit", 100 * problems.size());
  EXPECT_THAT(make_report_model(rows).verdict.back(), StartsWith(admit));
  rows.spaces.pop_back();
  rows.spaces.pop_back();
  EXPECT_THAT(make_report_model(rows).verdict.back(), StartsWith("10 variants evaluated, "));
}

TEST(ReportModelTest, VerdictUsesTheGeometricMean) {
  StoredRows rows;
  rows.tuned.push_back(made_up_pick(kH200, "rows=1", "a", 10, "b", 20));
  rows.tuned.push_back(made_up_pick(kH200, "rows=2", "a", 10, "b", 80));
  const ReportModel model = make_report_model(std::move(rows));
  ASSERT_THAT(model.verdict, SizeIs(1));
  EXPECT_THAT(model.verdict[0], HasSubstr("on all 2 problems, by 4.00x in the geometric mean and "
                                          "8.00x at most (rmsnorm.forward rows=2)"));
}

TEST(ReportModelTest, VerdictOfEmulationNeverSpeaksOfSpeed) {
  StoredRows rows;
  rows.tuned.push_back(made_up_pick(kCpu, "rows=1", "a", 10, "b", 20));
  const ReportModel model = make_report_model(std::move(rows));
  ASSERT_THAT(model.verdict, SizeIs(1));
  EXPECT_THAT(model.verdict[0], Not(HasSubstr("beats")));
  EXPECT_THAT(model.verdict[0], Not(HasSubstr("2.00x")));
  EXPECT_TRUE(model.emulation);
}

TEST(ReportModelTest, AnEmptyStoreSaysWhatFillsIt) {
  const ReportModel model = make_report_model({});
  EXPECT_THAT(model.verdict, ElementsAre("There are no results yet.",
                                         HasSubstr("mgtune sweep --kernel rmsnorm --gpu auto")));
  EXPECT_FALSE(model.emulation);
  EXPECT_THAT(model.problems, SizeIs(0));
}

TEST(ReportModelTest, ReadsWhatTheStoreHas) {
  const auto folder = std::filesystem::temp_directory_path() / "mgtune_report_model_test";
  std::filesystem::remove_all(folder);
  auto opened = Store::open((folder / "results.db").string(), Store::Mode::read_write);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Store store = std::move(opened).value();

  const std::int64_t gpu = store.gpu_id(cpu_record()).value();
  const std::int64_t problem = store.problem_id("rmsnorm.forward", "rows=4 T=f32", 128, 64).value();
  SweepRecord sweep = made_up_sweep(0, kCpu, "2026-11-21T09:00:00Z").sweep;
  sweep.gpu = gpu;
  sweep.environment = store.environment_id({"0.1.0", "g++ 12", "", "Debian"}).value();
  OutcomeRecord outcome;
  outcome.sweep = store.begin_sweep(sweep).value();
  outcome.key = {gpu, problem, "abc", "launch", "reference"};
  outcome.variant = "row VEC=1";
  outcome.build = {{16, 0, 0}, "key", "abc", "cpu", ""};
  outcome.check = CheckRecord{Outcome::ok, "", 1e-7, 2e-6};
  outcome.measurement = MeasurementRecord{Outcome::ok, "", "emulation", 1500, 1400, 1600,
                                          1300,        9,  "",          1450, 1550, {}};
  ASSERT_TRUE(store.record(outcome).ok());
  TunedRecord tuned;
  tuned.sweep = outcome.sweep;
  tuned.gpu = gpu;
  tuned.problem = problem;
  tuned.variant = tuned.default_variant = outcome.variant;
  tuned.build_sha256 = "abc";
  tuned.method = "emulation";
  tuned.median_ns = tuned.default_median_ns = 1500;
  ASSERT_TRUE(store.record_tuned(tuned).ok());

  const auto model = read_report_model(store);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(model.value().picks, SizeIs(1));
  EXPECT_EQ(model.value().picks[0].standing, PickStanding::default_fastest);
  EXPECT_EQ(model.value().picks[0].variants_ok, 1);
  ASSERT_THAT(model.value().variants, SizeIs(1));
  EXPECT_TRUE(model.value().variants[0].is_pick);
  EXPECT_EQ(model.value().variants[0].view.registers, 16);
  EXPECT_THAT(model.value().sweeps, SizeIs(1));
  EXPECT_THAT(model.value().generated_at, ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_FALSE(model.value().mgtune_version.empty());
  std::filesystem::remove_all(folder);
}

TEST(UnitsTest, Durations) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3599), "59:59");
  EXPECT_EQ(duration_text(7390), "2:03:10");
  EXPECT_EQ(duration_text(-1), "0 s");
}

TEST(UnitsTest, FourDigitsAndTheUnitThatFits) {
  EXPECT_EQ(time_text(812.4), "812.4 ns");
  EXPECT_EQ(time_text(8.1254), "8.125 ns");
  EXPECT_EQ(time_text(999.94), "999.9 ns");
  EXPECT_EQ(time_text(999.96), "1.000 us");
  EXPECT_EQ(time_text(17230), "17.23 us");
  EXPECT_EQ(time_text(999960), "1.000 ms");
  EXPECT_EQ(time_text(1.5e9), "1.500 s");
  EXPECT_EQ(time_text(7.2e12), "7200 s");
}

TEST(UnitsTest, OtherNumbers) {
  EXPECT_EQ(ratio_text(1.2249), "1.22x");
  EXPECT_EQ(ratio_text(1.0132), "1.013x");  // as the page has it
  EXPECT_EQ(ratio_text(0.9967), "0.997x");
  EXPECT_EQ(bandwidth_text(3412.4), "3412");
  EXPECT_EQ(bandwidth_text(99.96), "100");
  EXPECT_EQ(bandwidth_text(34.12), "34.1");
  EXPECT_EQ(bandwidth_text(0.5234), "0.52");
  EXPECT_EQ(error_text(0.00012), "1.2e-04");
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(60LL << 20), "60 MiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(counted(1, "variant"), "1 variant");
  EXPECT_EQ(counted(0, "variant"), "0 variants");
}

}  // namespace
}  // namespace mgtune
