// Which rows of two tables are compared, what becomes of the others, and how it is shown.

#include "compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

RowName name(const std::string& variant, const std::string& problem = "rows=4096") {
  return {"rmsnorm.forward", problem, variant, "NVIDIA H200", "132 SMs", "rotating", false};
}

MeasuredRow row(const RowName& of, double median_us) {
  const double median_ns = 1000 * median_us;
  return {of, {median_ns, median_ns * 0.999, median_ns * 1.001}, Clock::gpu, {}, true};
}

MeasuredTable table(const std::string& file, std::vector<MeasuredRow> rows) {
  MeasuredTable table;
  table.file = file;
  table.rows = std::move(rows);
  return table;
}

constexpr ComparisonOptions kAll = {.all_variants = true, .emulation = true};

Comparison compare(const MeasuredTable& a, const MeasuredTable& b,
                   const ComparisonOptions& options = kAll) {
  Result<Comparison> comparison = compare_tables(a, b, options);
  EXPECT_TRUE(comparison.ok()) << comparison.status().message();
  return comparison.ok() ? *std::move(comparison) : Comparison();
}

std::vector<std::string> verdicts(const Comparison& comparison) {
  std::vector<std::string> texts;
  for (const ComparedRow& compared : comparison.rows) {
    texts.push_back(compared.a.name.variant + " " +
                    std::string(to_string(compared.difference.verdict)));
  }
  return texts;
}

TEST(Comparison, TheWorstComesFirstAndWhatIsTheSameStaysInOrder) {
  const MeasuredTable a = table("a", {row(name("z"), 100), row(name("b"), 100), row(name("c"), 100),
                                      row(name("d"), 100), row(name("e"), 100)});
  const MeasuredTable b =
      table("b", {row(name("e"), 120), row(name("d"), 101.9), row(name("c"), 80),
                  row(name("b"), 100.1), row(name("z"), 100)});
  const Comparison comparison = compare(a, b);
  EXPECT_THAT(verdicts(comparison),
              ElementsAre("e SLOWER", "c FASTER", "d UNSURE", "z SAME", "b SAME"));
  EXPECT_TRUE(comparison.has_regression());
  EXPECT_FALSE(compare(b, b).has_regression());
  EXPECT_THAT(verdicts(compare(b, a)),
              ElementsAre("c SLOWER", "e FASTER", "d UNSURE", "b SAME", "z SAME"));
}

TEST(Comparison, RowsOfOneFileAreListedWithWhatTheOtherSays) {
  MeasuredTable a =
      table("a", {row(name("both"), 100), row(name("gone"), 100), row(name("broken"), 100)});
  MeasuredTable b = table("b", {row(name("both"), 100), row(name("new"), 100)});
  RowName broken = name("broken");
  broken.method = "";  // it never came to be timed
  b.untimed.push_back({broken, "wrong"});
  const Comparison comparison = compare(a, b);
  ASSERT_THAT(comparison.only_in_a, SizeIs(2));
  EXPECT_EQ(comparison.only_in_a[0].name.variant, "gone");
  EXPECT_EQ(comparison.only_in_a[0].other, "");
  EXPECT_EQ(comparison.only_in_a[1].other, "wrong");
  ASSERT_THAT(comparison.only_in_b, SizeIs(1));
  EXPECT_EQ(comparison.only_in_b[0].name.variant, "new");

  const std::string text = comparison_text(comparison);
  EXPECT_THAT(text, AllOf(HasSubstr("Only in A"), HasSubstr("wrong"), HasSubstr("Only in B"),
                          HasSubstr("2 variants: 0 SLOWER, 0 FASTER, 1 SAME, 0 UNSURE, "
                                    "1 BROKEN; 1 only in A; 1 only in B\n")));
  EXPECT_THAT(text, HasSubstr("Broken in B"));
  EXPECT_TRUE(comparison.has_regression());
  EXPECT_EQ(nlohmann::json::parse(comparison_json(comparison))["broken"], 1);
}

TEST(Comparison, WhatIsMerelyUntimedIsNotBroken) {
  const MeasuredTable a = table("a", {row(name("both"), 100), row(name("other"), 100)});
  for (const char* why : {"raced_out", "unstable", "unsupported", "no time", "timeout"}) {
    MeasuredTable b = table("b", {row(name("both"), 100)});
    b.untimed.push_back({name("other"), why});
    EXPECT_EQ(compare(a, b).broken(), why == std::string("timeout") ? 1U : 0U) << why;
  }
}

TEST(Comparison, OneThatOnlyBreaksIsAComparison) {
  const MeasuredTable a = table("a", {row(name("only"), 100)});
  MeasuredTable b = table("b", {});
  b.untimed.push_back({name("only"), "crashed"});
  EXPECT_TRUE(compare(a, b).has_regression());
  EXPECT_THAT(comparison_text(compare(a, b)), HasSubstr("0 UNSURE, 1 BROKEN"));
}

TEST(Comparison, OtherGpusMethodsAndEmulationAreNeverCompared) {
  const MeasuredTable a =
      table("a", {row(name("one"), 100), row(name("two"), 100), row(name("three"), 100),
                  row(name("four"), 100), row(name("same"), 100)});
  MeasuredTable b =
      table("b", {row(name("one"), 200), row(name("two"), 200), row(name("three"), 200),
                  row(name("four"), 200), row(name("same"), 100)});
  b.rows[0].name.method = "graph";
  b.rows[1].name.device = "NVIDIA L4";
  b.rows[2].name.device = "cpu";
  b.rows[2].name.emulation = true;
  b.rows[2].name.method = "emulation";
  b.rows[3].name.device_details = "16 SMs, MIG 1g.18gb";
  const Comparison comparison = compare(a, b);
  EXPECT_THAT(verdicts(comparison), ElementsAre("same SAME"));
  EXPECT_THAT(comparison.only_in_a, SizeIs(0));
  EXPECT_THAT(comparison.only_in_b, SizeIs(0));
  ASSERT_THAT(comparison.mismatches, SizeIs(4));
  EXPECT_THAT(comparison_text(comparison),
              AllOf(HasSubstr("1 row: different methods: rotating in A, graph in B"),
                    HasSubstr("different GPUs: NVIDIA H200 in A, NVIDIA L4 in B"),
                    HasSubstr("different GPUs: NVIDIA H200 (132 SMs) in A, NVIDIA H200 (16 SMs"),
                    HasSubstr("emulation times are never compared with real ones: NVIDIA H200 in "
                              "A, cpu (emulation) in B")));
}

TEST(Comparison, AnExportHasNoMoreOfAGpuThanItsModel) {
  MeasuredTable exported = table("b", {row(name("one"), 100)});
  exported.rows[0].name.device_details = "";
  EXPECT_THAT(compare(table("a", {row(name("one"), 100)}), exported).rows, SizeIs(1));
}

TEST(Comparison, NothingToCompareSaysWhatBothHave) {
  const MeasuredTable a = table("a.db", {row(name("one"), 100)});
  const auto message = [&](const MeasuredTable& b) {
    const Status status = compare_tables(a, b, kAll).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    return status.message();
  };
  EXPECT_THAT(message(table("b.db", {})), HasSubstr("b.db has no times"));
  EXPECT_THAT(message(table("b.db", {row(name("two"), 100)})),
              AllOf(HasSubstr("a.db has 1 row (NVIDIA H200 by rotating)"),
                    HasSubstr("none of them in both")));
  MeasuredTable emulated = table("b.db", {row(name("one"), 100)});
  emulated.rows[0].name.emulation = true;
  EXPECT_THAT(message(emulated), AllOf(HasSubstr("emulation times are never compared"),
                                       Not(HasSubstr("none of them in both"))));
}

TEST(Comparison, ANameThatStandsTwiceCountsOnce) {
  const MeasuredTable a = table("a", {row(name("one"), 100), row(name("one"), 200)});
  const Comparison comparison = compare(a, table("b", {row(name("one"), 100)}));
  EXPECT_THAT(verdicts(comparison), ElementsAre("one SAME"));
  EXPECT_THAT(comparison.only_in_a, SizeIs(0));
}

TEST(Comparison, TextNamesTimesChangesAndCautions) {
  MeasuredTable a =
      table("a.json",
            {{{"", "", "Parse/8", "host", "", "cpu time", false}, {100, 99, 101}, Clock::host}});
  MeasuredTable b = a;
  a.host = "builder";
  b.host = "laptop\x1b[2J";
  b.caution = "b was busy";
  b.rows[0].time = {150, 149, 151};
  const std::string text = comparison_text(compare(a, b));
  EXPECT_THAT(text,
              AllOf(HasSubstr("Benchmarks, cpu time\n"), HasSubstr("b was busy"),
                    HasSubstr("SLOWER   +50.0 %"), HasSubstr("100.0 ns"), HasSubstr("150.0 ns"),
                    HasSubstr("A ran on host 'builder', B on 'laptop\\x1b[2J'")));
}

TEST(Comparison, EqualFiguresAreOneMeasurement) {
  const auto wide = [](const std::string& variant, std::vector<double> figures) {
    return MeasuredRow{name(variant), {100, 80, 130}, Clock::gpu, std::move(figures)};
  };
  const MeasuredTable a = table(
      "a", {wide("copied", {100, 80, 130, 31}), wide("again", {100, 1}), wide("unknown", {})});
  const MeasuredTable b = table(
      "b", {wide("copied", {100, 80, 130, 31}), wide("again", {100, 2}), wide("unknown", {})});
  const Comparison comparison = compare(a, b);
  EXPECT_THAT(verdicts(comparison), ElementsAre("again UNSURE", "unknown UNSURE", "copied SAME"));
  EXPECT_THAT(comparison_text(comparison),
              HasSubstr("1 of 3 rows has the same samples in A and in B: that is one measurement"));
}

TEST(Comparison, OtherMemoryOfTheSameGpuIsTheSameGpu) {
  GpuRecord gpu;
  gpu.model = "NVIDIA H200";
  gpu.memory_bytes = 150'000'000'000;
  const auto on = [&](const char* details, std::int64_t memory) {
    MeasuredTable measured = table(details, {row(name("one"), 100)});
    measured.rows[0].name.device_details = details;
    measured.gpus[details] = gpu;
    measured.gpus[details].memory_bytes = memory;
    return measured;
  };
  const MeasuredTable a = on("132 SMs, 150000000000 bytes", 150'000'000'000);
  EXPECT_THAT(verdicts(compare(a, on("132 SMs, 149960835072 bytes", 149'960'835'072))),
              ElementsAre("one SAME"));
  EXPECT_FALSE(compare_tables(a, on("132 SMs, 75000000000 bytes", 75'000'000'000), kAll).ok());
}

TEST(Comparison, WhereMoreIsNeededToCountItSaysSo) {
  const MeasuredTable a = table("a", {row(name("one"), 100), row(name("two"), 100)});
  EXPECT_THAT(comparison_text(compare(a, a)), Not(HasSubstr("counts from")));
  MeasuredTable b = table("b", {row(name("one"), 103), row(name("two"), 103)});
  b.rows[0].time.cut_short = true;
  EXPECT_THAT(comparison_text(compare(a, b)),
              AllOf(HasSubstr("counts from"), HasSubstr("6.0 %"), Not(HasSubstr("2.0 %"))));
}

TEST(Comparison, EmulationIsLabelled) {
  MeasuredTable a = table("a", {row(name("one"), 100)});
  a.rows[0].name.emulation = true;
  a.rows[0].clock = Clock::host;
  EXPECT_THAT(comparison_text(compare(a, a)),
              AllOf(HasSubstr("(emulation)"), HasSubstr("say nothing about a GPU")));
}

TEST(Comparison, JsonHasEveryRow) {
  const MeasuredTable a = table("a", {row(name("one"), 100), row(name("gone"), 100)});
  MeasuredTable b = table("b", {row(name("one"), 110)});
  b.rows[0].time.low_ns = b.rows[0].time.high_ns = 0;
  const nlohmann::json json = nlohmann::json::parse(comparison_json(compare(a, b)));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["regression"], true);
  EXPECT_EQ(json["slower"], 1);
  ASSERT_THAT(json["rows"], SizeIs(1));
  const nlohmann::json& one = json["rows"][0];
  EXPECT_EQ(one["verdict"], "SLOWER");
  EXPECT_NEAR(one["change"].get<double>(), 0.1, 1e-12);
  EXPECT_LT(one["change_low"].get<double>(), 0.1);
  EXPECT_EQ(one["smallest_that_counts"], 0.02);
  EXPECT_EQ(one["a"]["median_ns"], 100'000);
  EXPECT_TRUE(one["b"]["median_low_ns"].is_null());
  EXPECT_EQ(json["only_in_a"][0]["variant"], "gone");
  EXPECT_TRUE(json["only_in_a"][0]["in_the_other"].is_null());
}

// ---- picks ----

constexpr ComparisonOptions kPicks = {};

MeasuredRow not_picked(const MeasuredRow& row) {
  MeasuredRow result = row;
  result.is_pick = false;
  return result;
}

TEST(ComparedPicks, OtherVariantsAreNotCompared) {
  const MeasuredTable a = table("a", {row(name("pick"), 100), not_picked(row(name("slow"), 150))});
  const MeasuredTable b = table("b", {row(name("pick"), 100), not_picked(row(name("slow"), 300))});
  EXPECT_THAT(verdicts(compare(a, b, kPicks)), ElementsAre("pick SAME"));
  EXPECT_FALSE(compare(a, b, kPicks).has_regression());
  const Comparison all = compare(a, b);
  EXPECT_THAT(verdicts(all), ElementsAre("slow SLOWER", "pick SAME"));
  EXPECT_FALSE(all.has_regression()) << "no program runs the slower variant";
  EXPECT_THAT(comparison_text(compare(a, b, kPicks)),
              HasSubstr("\n1 pick: 0 SLOWER, 0 FASTER, 1 SAME, 0 UNSURE, 0 BROKEN\nWorst: SAME"));
}

TEST(ComparedPicks, AnotherPickIsComparedWithTheOldOne) {
  const MeasuredTable a = table("a", {row(name("old"), 100), not_picked(row(name("new"), 120))});
  const MeasuredTable b = table("b", {not_picked(row(name("old"), 100)), row(name("new"), 80)});
  const Comparison comparison = compare(a, b, kPicks);
  EXPECT_THAT(verdicts(comparison), ElementsAre("old FASTER", "old SAME"));
  EXPECT_EQ(comparison.rows[0].b.name.variant, "new");
  EXPECT_THAT(comparison_text(comparison), HasSubstr("old -> new"));
  EXPECT_EQ(nlohmann::json::parse(comparison_json(comparison))["rows"][0]["variant_b"], "new");
  // The picked variant has slowed down, although another one serves now.
  const MeasuredTable slower =
      table("c", {not_picked(row(name("old"), 110)), row(name("new"), 100.5)});
  EXPECT_THAT(verdicts(compare(a, slower, kPicks)), ElementsAre("old SLOWER", "old SAME"));
  EXPECT_TRUE(compare(a, slower, kPicks).has_regression());
  // An export of picks does not have the old one.
  const MeasuredTable exported = table("d", {row(name("new"), 110)});
  EXPECT_THAT(verdicts(compare(a, exported, kPicks)), ElementsAre("old SLOWER"));
}

TEST(ComparedPicks, APickThatFailsIsBrokenAlthoughAnotherOneServes) {
  const MeasuredTable a = table("a", {row(name("old"), 100)});
  MeasuredTable b = table("b", {row(name("new"), 90)});
  b.untimed.push_back({name("old"), "crashed"});
  const Comparison comparison = compare(a, b, kPicks);
  EXPECT_EQ(comparison.broken(), 1U);
  EXPECT_TRUE(comparison.has_regression());
  EXPECT_THAT(comparison_markdown(comparison),
              AllOf(HasSubstr("### mgtune compare: 1 pick broken\n"), HasSubstr("crashed")));
  MeasuredTable all = a;
  all.rows[0].is_pick = false;
  EXPECT_FALSE(compare(all, b).has_regression()) << "nobody ran it";
}

TEST(ComparedPicks, OtherMethodsOfAProblemAreAMismatch) {
  MeasuredTable b = table("b", {row(name("new"), 90), row(name("same", "rows=8"), 100)});
  b.rows[0].name.method = "graph";
  const MeasuredTable a = table("a", {row(name("old"), 100), row(name("same", "rows=8"), 100)});
  const Comparison comparison = compare(a, b, kPicks);
  ASSERT_THAT(comparison.mismatches, SizeIs(1));
  EXPECT_EQ(comparison.mismatches[0].reason, "different methods: rotating in A, graph in B");
  EXPECT_THAT(comparison.only_in_a, SizeIs(0));
  const MeasuredTable empty = table("c", {not_picked(row(name("another"), 100))});
  EXPECT_THAT(compare_tables(a, empty).status().message(),
              HasSubstr("c has no picks; --variants compares all variants"));
}

TEST(ComparedPicks, EmulatedTimesAreRefusedUnlessAskedFor) {
  MeasuredTable a = table("a", {row(name("one"), 100)});
  a.rows[0].name.emulation = true;
  a.rows[0].clock = Clock::host;
  EXPECT_THAT(compare_tables(a, a).status().message(),
              HasSubstr("emulated times say nothing about a GPU; --emulation compares them"));
  EXPECT_THAT(verdicts(compare(a, a, {.emulation = true})), ElementsAre("one SAME"));
  a.rows.push_back(row(name("real"), 100));
  const Comparison mixed = compare(a, a, kPicks);
  EXPECT_THAT(verdicts(mixed), ElementsAre("real SAME"));
  EXPECT_EQ(mixed.mismatches[0].rows, 1U);
}

TEST(ComparedPicks, AThresholdReplacesTheTwoPercent) {
  const MeasuredTable a = table("a", {row(name("one"), 100)});
  const MeasuredTable b = table("b", {row(name("one"), 103)});
  EXPECT_THAT(verdicts(compare(a, b, {.threshold = 0.05})), ElementsAre("one SAME"));
  EXPECT_THAT(verdicts(compare(a, b, {.threshold = 0.02})), ElementsAre("one SLOWER"));
  const MeasuredTable little = table("c", {row(name("one"), 101.5)});
  EXPECT_THAT(verdicts(compare(a, little, kPicks)), ElementsAre("one UNSURE"));
  EXPECT_THAT(verdicts(compare(a, little, {.threshold = 0.01})), ElementsAre("one SLOWER"));
}

TEST(ComparedPicks, MarkdownShowsWhatChangedAndFoldsTheRest) {
  const MeasuredTable a =
      table("a|b.db", {row(name("one"), 100), row(name("<two>", "rows=8"), 100)});
  const MeasuredTable b = table("b.db", {row(name("one"), 110), row(name("<two>", "rows=8"), 100)});
  const std::string text = comparison_markdown(compare(a, b, kPicks));
  EXPECT_THAT(text,
              AllOf(HasSubstr("### mgtune compare: 1 pick slower\n\n2 picks: 1 SLOWER"),
                    HasSubstr("A is a\\|b.db, B is b.db\n"), HasSubstr("| SLOWER | +10.0 % |"),
                    HasSubstr("<summary>1 row: SAME or UNSURE</summary>\n\n| verdict |"),
                    HasSubstr("&lt;two>")));
  EXPECT_LT(text.find("SLOWER | +10.0 %"), text.find("<details>"));
}

}  // namespace
}  // namespace mgtune
