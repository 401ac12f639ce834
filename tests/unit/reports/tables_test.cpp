#include "text/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/helpers/made_up_report.h"
#include "text/printable.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(PrintableTest, KeepsTextAndNewlines) {
  EXPECT_EQ(printable("row VEC=8\n\tµs 日本 🙂"), "row VEC=8\n\tµs 日本 🙂");
}

TEST(PrintableTest, ShowsControlCharactersAndDirectionOverrides) {
  EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(printable(std::string("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"), "\\x9b");
  EXPECT_EQ(printable(std::string{'\xE2', '\x80', '\xAE'}), "\\u202e");
}

TEST(PrintableTest, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(printable("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(printable("\xC3"), "\xEF\xBF\xBD") << "cut off";
  EXPECT_EQ(printable("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "overlong";
  EXPECT_EQ(printable("\xED\xA0\x80").find('\xED'), std::string::npos) << "a surrogate";
  EXPECT_EQ(printable("\xF5\x80\x80\x80").find('\xF5'), std::string::npos) << "past U+10FFFF";
}

TEST(PrintableTest, OneLineSaysThatMoreFollows) {
  EXPECT_EQ(printable_line("\n  first\tx \nsecond"), "first x ...");
  EXPECT_EQ(printable_line("only\n\n"), "only");
  EXPECT_EQ(printable_line(" \n "), "");
}

TEST(PrintableTest, WidthCountsColumns) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("µs"), 2u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);
  EXPECT_EQ(display_width("🙂"), 2u);
}

TEST(TextTableTest, AlignsDropsEmptyColumnsAndLeavesNoTrailingSpace) {
  TextTable table({{"name"}, {"time", TextTable::Align::right}, {"unused"}, {"last"}});
  table.add_row({"日本", "9 us", "", "a"});
  table.add_row({"abcdef", "10.5 us", "", ""});
  EXPECT_EQ(table.text(1),
            " name       time  last\n"
            " 日本       9 us  a\n"
            " abcdef  10.5 us\n");
}

TEST(FoldedTest, LinesGoOnUnderThemselves) {
  EXPECT_EQ(folded("  row A=1 B=2   C=3\nshort\n", 12), "  row A=1\n      B=2\n      C=3\nshort\n");
  EXPECT_EQ(folded("  row A=1 B=2   C=3\n", 80), "  row A=1 B=2   C=3\n");
}

TEST(FoldedTest, AWordLongerThanTheLineStaysWhole) {
  EXPECT_EQ(folded("abcdefghij k", 4), "abcdefghij\n    k");
  EXPECT_EQ(folded("", 4), "");
  EXPECT_EQ(folded("      ", 4), "      ");
}

TEST(TablesTest, PicksShowTimesSpeedupAndTies) {
  const std::string text = picks_table(make_report_model(made_up_rows()));
  EXPECT_THAT(text, HasSubstr("rmsnorm.forward on NVIDIA H200\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  rows=4096 hidden=4096 T=bf16  20.00 us  30.00 us     1.50x   3356  "
                        "rotating         6       3  row THREADS_PER_ROW=512"));
  EXPECT_THAT(text, HasSubstr("tie"));
  EXPECT_THAT(text, HasSubstr("so it stays"));
  EXPECT_THAT(text, HasSubstr("rmsnorm.forward on cpu (emulation)\n"));
}

// A terminal of 100 columns has no room for all parameters.
TEST(TablesTest, NarrowTablesHaveOnlyWhatDiffersFromTheDefault) {
  StoredRows rows = made_up_rows();
  for (TunedView& view : rows.tuned) {
    view.tuned.variant = "row VEC=8 THREADS_PER_ROW=512 PDL=true LOAD=kept";
    view.tuned.default_variant = "row VEC=4 THREADS_PER_ROW=512 PDL=true LOAD=kept";
  }
  const ReportModel model = make_report_model(std::move(rows));
  for (const std::size_t columns : {0U, 400U}) {
    EXPECT_THAT(picks_table(model, columns), HasSubstr("row VEC=8 THREADS_PER_ROW=512 PDL=true"));
  }
  const std::string narrow = picks_table(model, 100);
  EXPECT_THAT(narrow, HasSubstr("pick, where it differs from the default\n"));
  EXPECT_THAT(narrow, HasSubstr("  VEC=8\n"));
  EXPECT_THAT(narrow, Not(HasSubstr("LOAD=kept")));
}

TEST(TablesTest, PicksNameTheCeilingThatTheyAreNearestTo) {
  ReportModel model = make_report_model(made_up_rows());
  const auto pick = std::ranges::find(model.picks, PickStanding::faster, &ReportPick::standing);
  ASSERT_NE(pick, model.picks.end());
  pick->of_copy = 0.076;
  pick->roofline.of_peak = 0.357;
  pick->roofline.peak = "wgmma_bf16";
  const std::string text = picks_table(model);
  EXPECT_THAT(text, HasSubstr("35.7 % of wgmma_bf16 peak"));
  EXPECT_THAT(text, HasSubstr("\nreached: of the rate of a copy"));
}

TEST(TablesTest, EveryTableWithCpuTimesSaysEmulation) {
  const ReportModel model = make_report_model(made_up_rows());
  for (const std::string& text : {picks_table(model), variants_table(model)}) {
    EXPECT_THAT(text, HasSubstr("Times marked emulation are those of the cpu device"));
    for (const std::string& line : lines_of(text)) {
      const bool has_cpu_time = line.find(" ms") != std::string::npos;
      EXPECT_TRUE(!has_cpu_time || line.find("emulation") != std::string::npos) << line;
    }
  }
}

StoredRows rows_with_evidence() {
  StoredRows rows = made_up_rows();
  const std::string sha = rows.outcomes.front().build_sha256;
  for (TunedView& view : rows.tuned) view.tuned.build_sha256 = sha;
  FinalView final;
  final.gpu = h200_record();
  final.op = "rmsnorm.forward";
  final.problem = "rows=4096 hidden=4096 T=bf16";
  final.final.gpu = kH200;
  final.final.method = "rotating";
  final.final.noise_floor = 0.0031;
  final.final.finalists = {
      {kFastVariant, sha, "", 20'000, 19'990, 20'020, 0.6671, 0.6660, 0.6683, true, {1, 2, 3}},
      {kDefaultVariant, sha, "", 30'000, 29'900, 30'100, 1, 1, 1, false, {4, 5, 6}}};
  final.final.clocks = {1980, 3201, 420.4, 47, "sw_power_cap", 2};
  rows.finals.push_back(final);
  CeilingView copy;
  copy.gpu_id = kH200;
  copy.ceiling.kind = "copy";
  copy.ceiling.method = "rotating";
  copy.ceiling.bytes = 67117056;
  copy.ceiling.rate = 67117056 / 19e-6;
  rows.ceilings.push_back(copy);
  CounterView counters;
  counters.gpu_id = kH200;
  counters.op = final.op;
  counters.problem = final.problem;
  counters.variant = kDefaultVariant;
  counters.build_sha256 = rows.outcomes.front().build_sha256;
  counters.counters = {{"occupancy_percent", 12}, {"issue_active_percent", 20}};
  rows.counters.push_back(counters);
  return rows;
}

TEST(TablesTest, FinalsShowRatiosTiesNoiseAndClocks) {
  const std::string text = finals_table(make_report_model(rows_with_evidence()));
  EXPECT_THAT(text, HasSubstr("rmsnorm.forward rows=4096 hidden=4096 T=bf16 on NVIDIA H200, "
                              "method rotating\n"));
  EXPECT_THAT(text, HasSubstr("20.00 us  0.667  0.666 .. 0.668  yes        3  row"));
  EXPECT_THAT(text, HasSubstr("differ by 0.3 %, SM clock 1980 MHz, memory 3201 MHz, 420 W, 47 C, 2 "
                              "throttled samples (sw_power_cap)\n"));
  EXPECT_THAT(finals_table(make_report_model({})),
              HasSubstr("No finals yet. Fill this store with"));
  const nlohmann::json json =
      nlohmann::json::parse(finals_json(make_report_model(rows_with_evidence())));
  EXPECT_EQ(json["finals"][0]["finalists"][0]["samples_ns"], nlohmann::json({1, 2, 3}));
  EXPECT_EQ(json["finals"][0]["noise_floor"], 0.0031);
}

TEST(TablesTest, LimitsNameWhatEachPickIsHeldAgainst) {
  const std::string text = limits_table(make_report_model(rows_with_evidence()));
  EXPECT_THAT(text, HasSubstr("1.00   95.0 %"));
  EXPECT_THAT(text, HasSubstr("Memory bandwidth: 95 % of the copy rate at these bytes"));
  EXPECT_THAT(text, testing::Not(HasSubstr("cpu")));
  EXPECT_THAT(limits_table(make_report_model({})), HasSubstr("No picks yet. Fill this store with"));
}

// A sweep that was killed has recorded its variants and picked none of them.
TEST(TablesTest, WithoutPicksItSaysWhetherAnythingPassed) {
  StoredRows rows = made_up_rows();
  rows.tuned.clear();
  rows.finals.clear();
  std::erase_if(rows.outcomes, [](const auto& view) { return view.gpu.emulation; });
  const auto passed = std::ranges::count_if(
      rows.outcomes, [](const OutcomeView& view) { return !is_failure(view.outcome); });
  ASSERT_GT(passed, 0);
  const std::string text = picks_table(make_report_model(rows));
  EXPECT_THAT(text, HasSubstr("No picks yet: " + std::to_string(passed) + " of " +
                              std::to_string(rows.outcomes.size()) + " variants passed"));
  EXPECT_THAT(text, HasSubstr("Run the same command again"));
  EXPECT_EQ(limits_table(make_report_model(rows)), text);
  std::erase_if(rows.outcomes, [](const auto& view) { return !is_failure(view.outcome); });
  ASSERT_FALSE(rows.outcomes.empty());
  EXPECT_THAT(picks_table(make_report_model(rows)), HasSubstr("No picks: none of "));
}

TEST(TablesTest, VariantsAndPicksCarryTheirEvidenceInJson) {
  const ReportModel model = make_report_model(rows_with_evidence());
  const nlohmann::json picks = nlohmann::json::parse(picks_json(model));
  EXPECT_EQ(picks["picks"][1]["noise_floor"], 0.0031);
  EXPECT_EQ(picks["picks"][1]["tied"], nlohmann::json({kFastVariant}));
  EXPECT_TRUE(picks["picks"][0]["noise_floor"].is_null());
  const nlohmann::json rows = nlohmann::json::parse(variants_json(model))["variants"];
  for (const nlohmann::json& row : rows) {
    const bool is_counted =
        row["variant"] == kDefaultVariant && row["problem"] == "rows=4096 hidden=4096 T=bf16";
    EXPECT_EQ(row["counters"].empty(), !is_counted);
    if (is_counted) {
      EXPECT_EQ(row["counters"]["occupancy_percent"], 12);
      EXPECT_THAT(row["roofline"]["limit"].get<std::string>(), testing::StartsWith("Occupancy: "));
      EXPECT_NEAR(row["roofline"]["of_copy"].get<double>(), 19.0 / 30, 1e-9);
    }
    EXPECT_TRUE(row["emulation"] == false || row["roofline"]["limit"] == "");
  }
}

TEST(TablesTest, WithoutCpuTimesNothingSaysEmulation) {
  StoredRows rows = made_up_rows();
  std::erase_if(rows.outcomes, [](const auto& view) { return view.gpu.emulation; });
  std::erase_if(rows.tuned, [](const auto& view) { return view.gpu.emulation; });
  const ReportModel model = make_report_model(std::move(rows));
  EXPECT_THAT(picks_table(model), Not(HasSubstr("emulation")));
  EXPECT_THAT(variants_table(model), Not(HasSubstr("emulation")));
}

TEST(TablesTest, VariantsComeByProblemWithTheirRole) {
  const std::string text = variants_table(make_report_model(made_up_rows()));
  EXPECT_THAT(text, HasSubstr("rows=4096 hidden=4096 T=bf16 on NVIDIA H200: 6 variants\n"));
  EXPECT_THAT(text, HasSubstr("pick, default"));
  EXPECT_THAT(text, HasSubstr("compile_failed"));
  EXPECT_THAT(text, HasSubstr("19.80 us .. 20.20 us"));
}

TEST(TablesTest, FailuresShowTheLineThatSaysWhatIsWrong) {
  const auto lines = lines_of(failures_table(make_report_model(made_up_rows())));
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[1], HasSubstr("wrong "));
  EXPECT_THAT(lines[1], HasSubstr("y[3, 17]: 0.5"));
  EXPECT_THAT(lines[2], HasSubstr("forward.cu(61): error: no 32-byte vector"));
  EXPECT_THAT(lines[2], Not(HasSubstr("In file included")));
}

TEST(TablesTest, EmptyStatesSayWhatFillsThem) {
  const ReportModel empty = make_report_model({});
  for (const std::string& text :
       {picks_table(empty), variants_table(empty), failures_table(empty)}) {
    EXPECT_THAT(text, HasSubstr("mgtune sweep --kernel rmsnorm --gpu auto\n"));
  }
  StoredRows rows;
  rows.outcomes.push_back(made_up_outcome(kH200, "rows=1", "a", Outcome::ok, 10));
  EXPECT_EQ(failures_table(make_report_model(std::move(rows))),
            "No failures: 1 variant evaluated.\n");
}

TEST(TablesTest, NamesCannotDriveTheTerminal) {
  StoredRows rows;
  rows.outcomes.push_back(made_up_outcome(kH200, "rows=1", "a\x1b[31m", Outcome::wrong));
  rows.outcomes.back().message = "\x1b]0;title\x07";
  const ReportModel model = make_report_model(std::move(rows));
  for (const std::string& text : {variants_table(model), failures_table(model)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  }
}

TEST(ReportJsonTest, PicksRoundTrip) {
  const nlohmann::json json = nlohmann::json::parse(picks_json(make_report_model(made_up_rows())));
  EXPECT_EQ(json["format"], 1);
  ASSERT_THAT(json["picks"], SizeIs(3));
  const nlohmann::json& pick = json["picks"][1];
  EXPECT_EQ(pick["gpu"], "NVIDIA H200");
  EXPECT_EQ(pick["emulation"], false);
  EXPECT_EQ(pick["operator"], "rmsnorm.forward");
  EXPECT_EQ(pick["problem"], "rows=4096 hidden=4096 T=bf16");
  EXPECT_EQ(pick["variant"], kFastVariant);
  EXPECT_EQ(pick["median_ns"], 20000.0);
  EXPECT_EQ(pick["default_median_ns"], 30000.0);
  EXPECT_EQ(pick["standing"], "faster");
  EXPECT_EQ(pick["speedup"], 1.5);
  EXPECT_EQ(json["picks"][2]["emulation"], true);
  EXPECT_TRUE(json["picks"][2]["bandwidth_gbps"].is_null());
}

TEST(ReportJsonTest, VariantsCarryTypedParametersAndNulls) {
  StoredRows rows;
  rows.outcomes.push_back(made_up_outcome(
      kH200, "rows=1", "row VEC=8 LOAD=cp_async PAIRED=true N=-3", Outcome::ok, 10));
  rows.outcomes.back().registers = -1;
  rows.outcomes.back().check->error = std::numeric_limits<double>::quiet_NaN();
  const nlohmann::json variant =
      nlohmann::json::parse(variants_json(make_report_model(std::move(rows))))["variants"][0];
  EXPECT_EQ(variant["design"], "row");
  EXPECT_EQ(variant["parameters"],
            nlohmann::json({{"VEC", 8}, {"LOAD", "cp_async"}, {"PAIRED", true}, {"N", -3}}));
  EXPECT_TRUE(variant["registers"].is_null());
  EXPECT_EQ(variant["spill_bytes"], 0);
  EXPECT_TRUE(variant["check"]["error"].is_null()) << "JSON has no NaN";
  EXPECT_EQ(variant["measurement"]["q3_ns"], 10.1);
}

TEST(ReportJsonTest, FailuresAreOnlyFailures) {
  const nlohmann::json json =
      nlohmann::json::parse(failures_json(make_report_model(made_up_rows())));
  ASSERT_FALSE(json["causes"].empty());
  EXPECT_EQ(json["causes"][0]["outcome"], "compile_failed");
  EXPECT_EQ(json["causes"][0]["variants"], 2);
  EXPECT_TRUE(json["causes"][0]["example"]["variant"].is_string());
  ASSERT_THAT(json["failures"], SizeIs(3));
  EXPECT_EQ(json["failures"][0]["outcome"], "wrong");
  EXPECT_TRUE(json["failures"][1]["check"].is_null());
  EXPECT_TRUE(json["failures"][1]["measurement"].is_null());
  EXPECT_EQ(json["failures"][1]["message"],
            "In file included from a.cu:1:\nforward.cu(61): error: no 32-byte vector");
}

TEST(ReportJsonTest, BytesThatAreNotUtf8DoNotEndIt) {
  StoredRows rows;
  rows.outcomes.push_back(made_up_outcome(kH200, "rows=1", "a\xFF", Outcome::wrong));
  const nlohmann::json json =
      nlohmann::json::parse(failures_json(make_report_model(std::move(rows))));
  EXPECT_EQ(json["failures"][0]["variant"], "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace mgtune
