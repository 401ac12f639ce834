// mgtune compare as a program: what it reads, what it prints, and its exit codes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gzip.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kBefore = source_path("tests/bench/recorded/before.json");
const std::string kAfter = source_path("tests/bench/recorded/after.json");

class CliCompareTest : public ::testing::Test {
 protected:
  // A store with one variant, timed on the H200.
  std::string store_with(double median_ns, const std::string& method = "rotating") {
    const std::string path = folder_.file(std::to_string(++stores_) + ".db");
    Store store = Store::open(path, Store::Mode::read_write).value();
    SweepRecord sweep;
    sweep.gpu = *store.gpu_id(kH200Record);
    sweep.environment = *store.environment_id(kEnvironment);
    OutcomeRecord record;
    record.sweep = *store.begin_sweep(sweep);
    record.key.gpu = sweep.gpu;
    record.key.problem = *store.problem_id("rmsnorm.forward", "rows=4", 1, 1);
    record.key.build_sha256 = record.build.sha256 = record.build.key = "sha";
    record.variant = "row VEC=8";
    MeasurementRecord measurement;
    measurement.method = method;
    measurement.median_ns = median_ns;
    measurement.median_low_ns = median_ns * 0.999;
    measurement.median_high_ns = median_ns * 1.001;
    measurement.samples = 40;
    record.measurement = measurement;
    EXPECT_TRUE(store.record(record).ok());
    TunedRecord tuned;
    tuned.sweep = record.sweep;
    tuned.gpu = sweep.gpu;
    tuned.problem = record.key.problem;
    tuned.method = method;
    tuned.variant = record.variant;
    tuned.build_sha256 = "sha";
    tuned.median_ns = median_ns;
    EXPECT_TRUE(store.record_tuned(tuned).ok());
    return path;
  }

  Ended compare(const std::string& a, const std::string& b, bool json = false,
                const MgtuneProgram::Words& more = {}) {
    MgtuneProgram::Words words = {"compare", a, b};
    words.insert(words.end(), more.begin(), more.end());
    if (json) words.emplace_back("--json");
    return mgtune_.run(words);
  }

  const TestFolder folder_;
  MgtuneProgram mgtune_{folder_.path()};
  int stores_ = 0;
};

TEST_F(CliCompareTest, ARegressionIsExitCodeOne) {
  const std::string before = store_with(10000);
  const Ended slower = compare(before, store_with(10300));
  EXPECT_EQ(slower.exit_code, 1) << slower;
  EXPECT_THAT(slower.out,
              AllOf(HasSubstr("rmsnorm.forward on NVIDIA H200, rotating"),
                    HasSubstr("SLOWER   +3.0 %"), HasSubstr("1 pick: 1 SLOWER, 0 FASTER")));
  EXPECT_EQ(compare(before, store_with(9700)).exit_code, 0);
  EXPECT_EQ(compare(before, store_with(10050)).exit_code, 0);
  EXPECT_EQ(compare(before, before).exit_code, 0);
}

// The recording has rows whose few samples scatter by several percent.
TEST_F(CliCompareTest, AFileIsTheSameAsItselfAndAsItsExport) {
  const std::string recorded = folder_.file("recorded.db");
  const std::string packed = file_content(source_path("results/h200/recorded/showcase.db.gz"));
  std::ofstream(recorded) << gunzip(packed, 100 << 20).value();
  const std::string exported = folder_.file("variants.json");
  std::ofstream(exported) << mgtune_.run({"show", "variants", "--json", "--db", recorded}).out;
  for (const std::string& other : {recorded, exported}) {
    const Ended picks = compare(recorded, other, true);
    ASSERT_EQ(picks.exit_code, 0) << picks;
    EXPECT_GE(picks.json()["rows"].size(), 3U);
    EXPECT_EQ(picks.json()["same"], picks.json()["rows"].size());
    const Ended ended = compare(recorded, other, true, {"--variants"});
    ASSERT_EQ(ended.exit_code, 0) << ended;
    const nlohmann::json json = ended.json();
    EXPECT_EQ(json["same"], json["rows"].size()) << other;
    EXPECT_EQ(json["unsure"], 0) << other;
    EXPECT_GT(json["rows"].size(), 700U);
    EXPECT_EQ(json["widening"], 1);
  }
}

TEST_F(CliCompareTest, AnExportStandsForItsStore) {
  const std::string before = store_with(10000);
  const std::string after = store_with(10300);
  const std::string exported = folder_.file("variants.json");
  std::ofstream(exported) << mgtune_.run({"show", "variants", "--json", "--db", after}).out;
  const Ended ended = compare(before, exported, true);
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_EQ(ended.json()["rows"][0]["verdict"], "SLOWER");
}

TEST_F(CliCompareTest, RecordedBenchmarksCompare) {
  const Ended ended = compare(kBefore, kAfter);
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.out, HasSubstr("SLOWER"));
  const nlohmann::json json = compare(kBefore, kAfter, true).json();
  for (const nlohmann::json& row : json["rows"]) {
    const bool edited = row["variant"] == "EvaluateExpression/2";  // 25 % slower by hand
    EXPECT_EQ(row["verdict"] == "SLOWER", edited) << row;
    EXPECT_NE(row["verdict"], "FASTER") << row;
  }
  EXPECT_EQ(compare(kAfter, kAfter).exit_code, 0);
}

TEST_F(CliCompareTest, WhatCannotBeCompared) {
  const std::string rotating = store_with(10000);
  expect_refused(compare(rotating, store_with(10000, "graph")), 2,
                 HasSubstr("different methods: rotating in A, graph in B"));
  expect_refused(compare(rotating, kBefore), 2, HasSubstr("nothing to compare"));
  expect_refused(compare(rotating, folder_.file("none.db")), 5, HasSubstr("none.db"));
  expect_refused(mgtune_.run({"compare", rotating}), 2, HasSubstr("B is required"));
  expect_refused(compare(rotating, ""), 2, HasSubstr("B: needs a value"));
}

TEST_F(CliCompareTest, WordsChooseWhatIsComparedAndHow) {
  const std::string before = store_with(10000);
  const std::string after = store_with(10300);
  EXPECT_EQ(compare(before, after, false, {"--threshold", "5%"}).exit_code, 0);
  EXPECT_EQ(compare(before, after, false, {"--kernel", "rmsnorm", "--gpu", "H200"}).exit_code, 1);
  const Ended markdown = compare(before, after, false, {"--format", "markdown"});
  EXPECT_EQ(markdown.exit_code, 1);
  EXPECT_THAT(markdown.out, testing::StartsWith("### mgtune compare: 1 pick slower\n"));
  const auto refused = [&](const MgtuneProgram::Words& words, const char* message) {
    expect_refused(compare(before, after, false, words), 2, HasSubstr(message));
  };
  refused({"--threshold", "2"}, "--threshold 2: expected a percentage from 1% to 100%");
  refused({"--threshold", "0.5%"}, "expected a percentage from 1% to 100%");
  refused({"--threshold", "nan%"}, "expected a percentage from 1% to 100%");
  refused({"--format", "markdwn"}, "did you mean");
  refused({"--picks", "--variants"}, "exclude each other");
  refused({"--kernel", "rmsnrm"}, "did you mean");
  refused({"--kernel", "swiglu"}, "they have those of rmsnorm.forward on NVIDIA H200");
}

TEST_F(CliCompareTest, WhatIsNoTableOfTimes) {
  const std::string before = store_with(10000);
  const std::string notes = folder_.file("notes.txt");
  std::ofstream(notes) << "nothing of the kind";
  expect_refused(compare(before, notes), 5, HasSubstr(notes));
  const std::string damaged = folder_.file("damaged.db");
  std::ofstream(damaged) << file_content(before).substr(0, 5000);
  expect_refused(compare(damaged, before), 5, HasSubstr(damaged));
}

}  // namespace
}  // namespace mgtune
