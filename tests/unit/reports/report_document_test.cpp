#include "document/report_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "document/markdown.h"
#include "document/report_json.h"
#include "html/report_page.h"
#include "model/missing_parts.h"
#include "tests/helpers/made_up_report.h"
#include "tests/helpers/test_paths.h"
#include "text/tables.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kGolden = source_path("tests/golden/report/made_up.json");
constexpr char kHostile[] = "</script><img src=x onerror=alert(1)>\"'&|\n`*";

// With everything that a store can have: a final, ceilings, counters, an order.
StoredRows full_rows() {
  StoredRows rows = made_up_rows();
  std::int64_t id = 0;
  for (OutcomeView& view : rows.outcomes) {
    view.id = ++id;
    view.sweep = view.gpu.emulation ? 1 : 2;
    view.recorded_at = view.gpu.emulation
                           ? "2026-11-20T08:00:0" + std::to_string(id) + ".500Z"
                           : "2026-11-21T09:00:1" + std::to_string(id % 10) + ".000Z";
    view.launch_hash = "launch";
    if (view.measurement) {
      view.measurement->median_low_ns = view.measurement->median_ns * 0.995;
      view.measurement->median_high_ns = view.measurement->median_ns * 1.005;
    }
  }
  rows.build_logs.push_back({rows.outcomes[4].build_sha256,
                             "ptxas info    : Used 32 registers\nptxas info    : Compile time = "
                             "3 ms\n"});
  TunedView& pick = rows.tuned[1];
  pick.copy_ns = 19'000;
  const OutcomeView& fast = rows.outcomes[4];
  pick.tuned.build_sha256 = fast.build_sha256;
  FinalView final;
  final.final = {2,
                 kH200,
                 1,
                 "rotating",
                 0.004,
                 {{kFastVariant,
                   fast.build_sha256,
                   "launch",
                   20000,
                   19950,
                   20050,
                   0.66,
                   0.65,
                   0.68,
                   true,
                   {19990, 20000, 20010}},
                  {kDefaultVariant,
                   fast.build_sha256,
                   "launch",
                   30000,
                   29900,
                   30100,
                   1,
                   1,
                   1,
                   false,
                   {29990, 30000, 30010}}},
                 {1980, 3201, 400, 40, "sw_power_cap", 1},
                 "a note",
                 ""};
  final.gpu = pick.gpu;
  final.op = pick.op;
  final.problem = pick.problem;
  rows.finals.push_back(final);
  rows.counters.push_back({2,
                           kH200,
                           pick.op,
                           pick.problem,
                           kFastVariant,
                           fast.build_sha256,
                           "launch",
                           {{"dram_read_bytes", 33e6},
                            {"dram_write_bytes", 33e6},
                            {"occupancy_percent", 70},
                            {"issue_active_percent", 20}}});
  const auto ceiling = [](const char* kind, std::int64_t bytes, double rate) {
    return CeilingView{
        {kind, "rotating", bytes, rate, "2026-11-21T08:00:00Z", {}}, 2, kH200, "580"};
  };
  rows.ceilings = {ceiling("copy", 67117056, 3.53e12), ceiling("copy", 1 << 29, 4.2e12),
                   ceiling("read", 1 << 29, 4.4e12), ceiling("fp32", 0, 6e13)};
  PeerView& peer = rows.peers.emplace_back();
  peer.op = pick.op;
  peer.problem = pick.problem;
  peer.peer = {
      "torch.compile",        "2.11.0",     pick.gpu.model, "graph", "580", "13.0", "torch 2.11.0",
      "2026-11-20T08:00:00Z", "peers.json", 38800,          38700,   38950, 63};
  return rows;
}

ReportModel full_model() {
  ReportModel model = make_report_model(full_rows());
  model.generated_at = "2026-11-21T22:00:00Z";
  model.mgtune_version = "0.1.0";
  return model;
}

nlohmann::json document_of(const ReportModel& model, const DocumentOptions& options = {}) {
  return nlohmann::json::parse(report_document(model, analyze(model), options));
}

// The text of a row, put together as the page does.
std::string variant_text(const nlohmann::json& problem, std::size_t at) {
  const nlohmann::json& design =
      problem["designs"][problem["variants"]["design"][at].get<std::size_t>()];
  std::string text = design["name"];
  for (const std::size_t place : design["parameters"]) {
    const nlohmann::json& parameter = problem["parameters"][place];
    const nlohmann::json& value = parameter["values"][parameter["index"][at].get<std::size_t>()];
    text += " " + parameter["name"].get<std::string>() + "=" +
            (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

TEST(ReportDocumentTest, IsTheGoldenOne) {
  const std::string document =
      nlohmann::json::parse(report_document(full_model(), analyze(full_model()), {})).dump(1) +
      "\n";
  if (std::getenv("MGTUNE_WRITE_GOLDEN") != nullptr) std::ofstream(kGolden) << document;
  std::ifstream file(kGolden);
  const nlohmann::json golden = nlohmann::json::parse(file, nullptr, false);
  EXPECT_EQ(nlohmann::json::diff(golden, nlohmann::json::parse(document)).dump(1), "[]")
      << "MGTUNE_WRITE_GOLDEN=1 writes it anew";
}

TEST(ReportDocumentTest, EveryRowCanBePutTogetherAgain) {
  const ReportModel model = full_model();
  const nlohmann::json document = document_of(model);
  std::size_t row = 0;
  for (const nlohmann::json& problem : document["problems"]) {
    EXPECT_EQ(problem["first"], row);
    for (const auto& [name, column] : problem["variants"].items()) {
      EXPECT_EQ(column.size(), problem["count"]) << name;
    }
    for (std::size_t i = 0; i < problem["count"]; ++i, ++row) {
      EXPECT_EQ(variant_text(problem, i), model.variants[row].view.variant);
    }
  }
  EXPECT_EQ(row, model.variants.size());
}

TEST(ReportDocumentTest, PicksNameTheirCeilingAndTheirInterval) {
  const nlohmann::json pick = document_of(full_model())["picks"][1];
  EXPECT_EQ(pick["ceiling"]["name"], "copy of 64.0 MiB");
  EXPECT_EQ(pick["ceiling"]["fraction"], 0.95);
  EXPECT_EQ(pick["ceiling"]["text"], "95.0 % of the copy of 64.0 MiB");
  EXPECT_THAT(pick["ceilings"], SizeIs(2)) << "and of the fp32 peak, which counters tell apart";
  EXPECT_EQ(pick["low_ns"], 19950) << "of the final";
  EXPECT_EQ(pick["speedup"], 1.5) << "30 us over 20 us, whatever the ratio within the rounds";
  EXPECT_NEAR(pick["speedup_low"], 1.5 * (1 - std::hypot(100. / 29900, 50. / 20000)), 1e-4);
  EXPECT_NEAR(pick["speedup_high"], 1.5 * (1 + std::hypot(100. / 30000, 50. / 19950)), 1e-4);
  EXPECT_EQ(pick["standing"], "faster");
  EXPECT_TRUE(pick["baseline"].is_null());
}

// A final whose ratio within the rounds, 0.42, is not that of its medians; and the same pick after
// an export and an import, which has no final.
TEST(ReportDocumentTest, TheSpeedUpIsTheRatioOfTheTwoTimesBesideIt) {
  StoredRows rows = full_rows();
  TunedRecord& tuned = rows.tuned[1].tuned;
  std::vector<FinalistRecord>& finalists = rows.finals[0].final.finalists;
  finalists[0].median_ns = finalists[0].median_low_ns = finalists[0].median_high_ns = 171'900;
  finalists[1].median_ns = finalists[1].median_low_ns = finalists[1].median_high_ns = 395'300;
  tuned.median_ns = 171'900;
  tuned.default_median_ns = 395'300;
  finalists[0].ratio = finalists[0].ratio_low = finalists[0].ratio_high = 0.42;
  StoredRows imported = rows;
  imported.finals.clear();
  for (const StoredRows& of : {rows, imported}) {
    const ReportModel model = make_report_model(of);
    const auto pick = std::ranges::find(model.picks, PickStanding::faster, &ReportPick::standing);
    ASSERT_NE(pick, model.picks.end());
    EXPECT_DOUBLE_EQ(pick->speedup.value(), 395.3 / 171.9);
    EXPECT_EQ(document_of(model)["picks"][1]["speedup"], 2.299593);
    for (const std::string& text :
         {picks_table(model), report_markdown(model, analyze(model), {}), model.verdict[0]}) {
      EXPECT_THAT(text, HasSubstr("2.30x"));
      EXPECT_THAT(text, Not(HasSubstr("2.38x")));
    }
    const std::string document = report_document(model, analyze(model), {});
    EXPECT_THAT(render_page(model, document).value(), HasSubstr(">2.30x<"));
    EXPECT_THAT(picks_csv(model, {}), HasSubstr(",395300,faster,2.29959"));
    const auto shown = nlohmann::json::parse(picks_json(model))["picks"];
    for (const auto& one : shown) {
      if (one["standing"] != "faster") continue;
      EXPECT_DOUBLE_EQ(one["speedup"].get<double>(),
                       one["default_median_ns"].get<double>() / one["median_ns"].get<double>());
    }
  }
}

TEST(ReportDocumentTest, FlagsAreBits) {
  const nlohmann::json variants = document_of(full_model())["problems"][1]["variants"];
  EXPECT_EQ(variants["flags"][0], 1 + 8 + 16 + 64) << "pick, in the final, tied, ranked";
  EXPECT_EQ(variants["flags"][1], 2 + 8 + 64) << "default";
  EXPECT_EQ(variants["flags"][3], 0) << "wrong";
}

TEST(ReportDocumentTest, ABaselineStandsBesideItsPick) {
  const ReportModel model = full_model();
  std::vector<std::optional<BaselinePick>> baseline(model.picks.size());
  baseline[1] = BaselinePick{"old", 40000, 2, 1.9, 2.1, Verdict::faster};
  DocumentOptions options;
  options.baseline = baseline;
  options.with_baseline = true;
  const nlohmann::json document = document_of(model, options);
  EXPECT_EQ(document["picks"][1]["baseline"]["verdict"], "faster");
  EXPECT_EQ(document["picks"][1]["baseline"]["speedup"], 2);
  EXPECT_TRUE(document["picks"][0]["baseline"].is_null());
  EXPECT_TRUE(document["missing"]["baseline"].is_null());
}

TEST(ReportDocumentTest, CommandsNameTheDatabaseThatTheReportWasMadeOf) {
  DocumentOptions options;
  options.database = "my results.db";
  const nlohmann::json document = document_of(full_model(), options);
  const std::string word = " --db 'my results.db'";
  EXPECT_THAT(document["picks"][1]["use"].get<std::string>(), HasSubstr(word));
  EXPECT_THAT(document["picks"][1]["ship"].get<std::string>(), HasSubstr(word + " -o "));
  EXPECT_THAT(document["problems"][1]["rerun"].get<std::string>(), HasSubstr(word + " --variant"));
  EXPECT_THAT(document["missing"]["baseline"]["command"].get<std::string>(), HasSubstr(word));
  EXPECT_THAT(document_of(full_model()).dump(), Not(HasSubstr("--db")));
}

TEST(ReportDocumentTest, WhatFillsAGapKeepsTheMethodOfThePicks) {
  StoredRows rows;
  rows.tuned.push_back(made_up_pick(kH200, "rows=1", "a", 10, "d", 20));
  rows.tuned.back().tuned.method = "graph";
  const auto command = [](const StoredRows& of) {
    return document_of(make_report_model(of))["missing"]["counters"]["command"].get<std::string>();
  };
  EXPECT_THAT(command(rows), HasSubstr(" --method graph --counters"));
  rows.tuned.push_back(made_up_pick(kH200, "rows=2", "a", 10, "d", 20));
  EXPECT_THAT(command(rows), Not(HasSubstr("--method"))) << "of two methods neither";
}

TEST(ReportDocumentTest, AFinalistIsLimitedAtTheTimeOfTheFinal) {
  StoredRows rows = full_rows();
  const auto tuned = std::ranges::find(rows.tuned, std::string(kFastVariant),
                                       [](const TunedView& view) { return view.tuned.variant; });
  ASSERT_NE(tuned, rows.tuned.end());
  tuned->tuned.median_ns = 24000;
  rows.finals[0].final.finalists[0].median_ns = 24000;  // slower than it was alone
  const nlohmann::json document = document_of(make_report_model(std::move(rows)));
  ASSERT_FALSE(document["counters"].empty());
  EXPECT_EQ(document["counters"][0]["variant"], document["picks"][1]["variant"]);
  EXPECT_EQ(document["counters"][0]["limit"], document["picks"][1]["limit"]);
}

TEST(ReportDocumentTest, NothingServesTheFastestOfARecording) {
  StoredRows rows = full_rows();
  rows.tuned.clear();
  rows.finals.clear();
  for (SweepView& view : rows.sweeps) view.sweep.strategy = "import";
  const nlohmann::json document = document_of(make_report_model(std::move(rows)));
  ASSERT_FALSE(document["picks"].empty());
  for (const nlohmann::json& pick : document["picks"]) {
    EXPECT_EQ(pick["use"], "");
    EXPECT_EQ(pick["ship"], "");
  }
}

TEST(ReportDocumentTest, EveryPartOfAnEmptyReportSaysWhatFillsIt) {
  const nlohmann::json document = document_of(make_report_model({}));
  for (const std::string_view part : report_parts()) {
    const nlohmann::json& missing = document["missing"][std::string(part)];
    ASSERT_TRUE(missing.is_object()) << part;
    EXPECT_THAT(missing["text"].get<std::string>(), HasSubstr("."));
    EXPECT_THAT(missing["command"].get<std::string>(), HasSubstr("mgtune ")) << part;
  }
}

TEST(ReportDocumentTest, EmulationHasNoCeilingsAndNothingToRunAgain) {
  StoredRows rows = made_up_rows();
  std::erase_if(rows.outcomes, [](const auto& view) { return !view.gpu.emulation; });
  std::erase_if(rows.tuned, [](const auto& view) { return !view.gpu.emulation; });
  const nlohmann::json document = document_of(make_report_model(std::move(rows)));
  EXPECT_EQ(document["problems"][0]["rerun"], "");
  EXPECT_TRUE(document["picks"][0]["ceiling"].is_null());
  EXPECT_TRUE(document["picks"][0]["gflops"].is_null());
  EXPECT_THAT(document["roofline"]["points"], SizeIs(0));
  EXPECT_THAT(document["missing"]["roofline"]["text"].get<std::string>(), HasSubstr("mulation"));
}

TEST(ReportDocumentTest, HostileTextIsDataAndCommandsQuoteIt) {
  StoredRows rows = full_rows();
  for (OutcomeView& view : rows.outcomes) {
    view.variant += kHostile;
    view.problem = view.op = view.gpu.model = view.message = kHostile;
  }
  for (TunedView& view : rows.tuned) {
    view.tuned.variant = view.tuned.default_variant = view.problem = view.op = kHostile;
    view.gpu.model = view.tuned.method = kHostile;
  }
  for (SweepView& view : rows.sweeps) view.sweep.command = view.gpu.model = kHostile;
  const ReportModel model = make_report_model(std::move(rows));
  const nlohmann::json document = document_of(model);
  const nlohmann::json& problem = document["problems"][0];
  EXPECT_EQ(problem["operator"], kHostile);
  EXPECT_EQ(variant_text(problem, 0), model.variants[0].view.variant);
  EXPECT_THAT(problem["rerun"].get<std::string>(),
              HasSubstr("'</script><img src=x onerror=alert(1)>\"'\\''&|\n`*'"));

  const std::string markdown = report_markdown(model, analyze(model), {});
  EXPECT_THAT(markdown, Not(HasSubstr("<img")));
  EXPECT_THAT(markdown, Not(HasSubstr("</script>")));
  EXPECT_THAT(markdown, HasSubstr("&lt;img"));
}

TEST(ReportDocumentTest, NumbersThatAreNoneAreNull) {
  StoredRows rows = made_up_rows();
  for (OutcomeView& view : rows.outcomes) {
    if (view.check) view.check->error = std::numeric_limits<double>::quiet_NaN();
    view.bytes = std::numeric_limits<double>::infinity();
  }
  const nlohmann::json document = document_of(make_report_model(std::move(rows)));
  EXPECT_TRUE(document["problems"][0]["variants"]["error"][0].is_null());
  EXPECT_TRUE(document["problems"][0]["bytes"].is_null());
}

TEST(ReportDocumentTest, TextThatIsNotUtf8DoesNotEndIt) {
  StoredRows rows;
  rows.outcomes.push_back(made_up_outcome(kH200, "rows=1", "row A=\xFF", Outcome::ok, 5));
  const nlohmann::json document = document_of(make_report_model(std::move(rows)));
  EXPECT_EQ(document["problems"][0]["parameters"][0]["values"][0], "\xEF\xBF\xBD");
}

TEST(ReportDocumentTest, AHundredThousandVariantsTakeSeconds) {
  StoredRows rows;
  for (int i = 0; i < 100'000; ++i) {
    std::string variant = "row";
    int rest = i;
    for (int p = 0; p < 10; ++p, rest /= 4) {
      variant += " PARAMETER_" + std::to_string(p) + "=" + std::to_string(rest % 4);
    }
    rows.outcomes.push_back(
        made_up_outcome(kH200, "rows=4096", std::move(variant), Outcome::ok, 1000 + i));
    rows.outcomes.back().id = i + 1;
  }
  rows.tuned.push_back(made_up_pick(kH200, "rows=4096", rows.outcomes[0].variant, 1000, "d", 0));
  const std::clock_t start = std::clock();  // of this process: a busy machine does not count
  const ReportModel model = make_report_model(std::move(rows));
  const std::string document = report_document(model, analyze(model), {});
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  RecordProperty("seconds", std::to_string(seconds));
  RecordProperty("bytes", std::to_string(document.size()));
  EXPECT_LT(document.size(), 20u << 20);
#ifdef __OPTIMIZE__
  const bool optimized = std::string(MGTUNE_SANITIZE).empty();
#else
  const bool optimized = false;
#endif
  EXPECT_LT(seconds, optimized ? 8 : 120);
}

TEST(MarkdownTest, ShowsPicksWhatFailedAndWhatFillsTheRest) {
  const ReportModel model = full_model();
  const std::string text = report_markdown(model, analyze(model), {});
  for (const char* part : {"# mgtune report: rmsnorm.forward on 2 devices", "## Picks", "1.50x",
                           "95.0 % of the copy of 64.0 MiB", "## Failures", "no 32-byte vector",
                           "## Environment", "mgtune sweep --kernel rmsnorm --gpu H200",
                           "## How it was measured", "too few to say which parameter matters"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(PicksCsvTest, HasOneRowAPickAndQuotesWhatItMust) {
  StoredRows rows;
  rows.tuned.push_back(made_up_pick(kH200, "rows=1", "a,\"b\"", 10, "d", 20));
  const std::string csv = picks_csv(make_report_model(std::move(rows)), {});
  EXPECT_THAT(csv, ::testing::StartsWith("gpu,emulation,operator,problem,method,variant,time_ns,"));
  EXPECT_THAT(csv, HasSubstr("\nNVIDIA H200,false,rmsnorm.forward,rows=1,rotating,"
                             "\"a,\"\"b\"\"\",10,,,d,20,faster,2,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
}

}  // namespace
}  // namespace mgtune
