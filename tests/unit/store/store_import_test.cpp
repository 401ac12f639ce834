// What the store does with results from elsewhere.

#include <gmock/gmock.h>

#include "database/database.h"
#include "store/import.h"
#include "store/schema.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StoreImportTest : public StoreTest {
 protected:
  static ImportedSweep imported(double median_ns = 200) {
    ImportedSweep sweep;
    sweep.gpu = kCpuRecord;
    sweep.environment = {"0.2.0", "clang", "", "elsewhere"};
    sweep.command = "mgtune import x.json";
    sweep.measured_at = "2026-01-01T00:00:00Z";
    const ProblemRecord problem{"rmsnorm.forward", "rows=4 hidden=64 T=f32", 1e3, 2};
    TunedView pick;
    pick.op = problem.op;
    pick.problem = problem.text;
    pick.bytes = problem.bytes;
    pick.flops = problem.flops;
    pick.tuned.method = "emulation";
    pick.tuned.variant = "row VEC=4";
    pick.tuned.median_ns = median_ns;
    sweep.picks.push_back(pick);
    MeasurementRecord measurement;
    measurement.method = "emulation";
    measurement.median_ns = median_ns;
    sweep.outcomes.push_back({problem, "row VEC=8", Outcome::ok, measurement});
    sweep.outcomes.push_back({problem, "row VEC=4", Outcome::compile_failed, std::nullopt});
    return sweep;
  }

  static std::vector<std::string> rows(Store& store) {
    std::vector<std::string> texts;
    for (const OutcomeView& row : *store.outcomes()) {
      texts.push_back(row.variant + " " + std::string(to_string(row.outcome)) + " " +
                      (row.measurement ? std::to_string(int(row.measurement->median_ns)) : "-"));
    }
    return texts;
  }
};

TEST_F(StoreImportTest, RowsSayWhereTheyComeFrom) {
  Store store = open();
  const ImportCounts counts = store.import_results({imported()}).value();
  EXPECT_EQ(counts.picks, 1);
  EXPECT_EQ(counts.outcomes, 2);
  EXPECT_EQ(counts.picks_kept + counts.outcomes_kept + counts.known, 0);
  const std::vector<SweepView> sweeps = *store.sweeps();
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].sweep.strategy, "import");
  EXPECT_EQ(sweeps[0].sweep.command, "mgtune import x.json");
  EXPECT_EQ(sweeps[0].sweep.started_at, "2026-01-01T00:00:00Z");
  EXPECT_EQ(sweeps[0].environment.system, "elsewhere");
  const std::vector<TunedView> tuned = *store.tuned();
  ASSERT_EQ(tuned.size(), 1U);
  EXPECT_EQ(tuned[0].tuned.variant, "row VEC=4");
  EXPECT_EQ(tuned[0].tuned.sweep, sweeps[0].sweep.id);
  EXPECT_EQ(tuned[0].tuned.default_variant, "");
  EXPECT_EQ(tuned[0].bytes, 1e3);
  EXPECT_THAT(rows(store), ElementsAre("row VEC=8 ok 200", "row VEC=4 compile_failed -"));
}

TEST_F(StoreImportTest, NoBuildLeadsToAnImportedRow) {
  Store store = open();
  ASSERT_TRUE(store.import_results({imported()}).ok());
  ResultKey key;
  key.gpu = *store.gpu_id(kCpuRecord);
  key.problem = *store.problem_id("rmsnorm.forward", "rows=4 hidden=64 T=f32", 1e3, 2);
  for (const char* sha256 : {"", "sha-1"}) {
    for (const char* launch : {"", "launch-1", "row VEC=8"}) {
      key.build_sha256 = sha256;
      key.launch_hash = launch;
      EXPECT_FALSE(store.find_measurement(key, "emulation")->has_value());
      EXPECT_FALSE(store.find_check(key)->has_value());
    }
  }
  for (const OutcomeView& row : *store.outcomes()) EXPECT_EQ(row.build_sha256, kImportedBuild);
}

TEST_F(StoreImportTest, WhatWasMeasuredHereStays) {
  Store store = open();
  const OutcomeRecord own = outcome_in(store);  // row VEC=8, 100.5 ns
  ASSERT_TRUE(store.record(own).ok());
  TunedRecord tuned{own.sweep,   own.key.gpu, own.key.problem, "row VEC=8", "sha-1",
                    "row VEC=8", "emulation", 100.5,           100.5,       true};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  const ImportCounts counts = store.import_results({imported()}).value();
  EXPECT_EQ(counts.picks, 0);
  EXPECT_EQ(counts.picks_kept, 1);
  EXPECT_EQ(counts.outcomes, 1);  // row VEC=4, of which nothing was known
  EXPECT_EQ(counts.outcomes_kept, 1);
  EXPECT_THAT(rows(store), ElementsAre("row VEC=8 ok 100", "row VEC=4 compile_failed -"));
  EXPECT_EQ(store.tuned()->front().tuned.variant, "row VEC=8");
}

TEST_F(StoreImportTest, AnOwnFailureStaysToo) {
  Store store = open();
  OutcomeRecord own = outcome_in(store);
  own.outcome = Outcome::wrong;
  own.measurement.reset();
  ASSERT_TRUE(store.record(own).ok());
  EXPECT_EQ(store.import_results({imported()})->outcomes_kept, 1);
  EXPECT_EQ(rows(store).front(), "row VEC=8 wrong -");
}

TEST_F(StoreImportTest, ALaterSweepGoesBeforeAnImport) {
  Store store = open();
  ASSERT_TRUE(store.import_results({imported()}).ok());
  const OutcomeRecord own = outcome_in(store);
  ASSERT_TRUE(store.record(own).ok());
  EXPECT_THAT(rows(store), ElementsAre("row VEC=4 compile_failed -", "row VEC=8 ok 100"));
  ASSERT_TRUE(store.import_results({imported(300)}).ok());
  EXPECT_THAT(rows(store), ElementsAre("row VEC=4 compile_failed -", "row VEC=8 ok 100"));
}

TEST_F(StoreImportTest, OtherMethodsStandBesideEachOther) {
  Store store = open();
  ASSERT_TRUE(store.record(outcome_in(store)).ok());
  ImportedSweep other = imported();
  other.outcomes.resize(1);
  other.outcomes[0].measurement->method = "graph";
  EXPECT_EQ(store.import_results({other})->outcomes, 1);
  EXPECT_THAT(rows(store), ElementsAre("row VEC=8 ok 100", "row VEC=8 ok 200"));
}

TEST_F(StoreImportTest, AgainIsNothingNewAndANewerImportReplaces) {
  Store store = open();
  ASSERT_TRUE(store.import_results({imported()}).ok());
  EXPECT_EQ(store.import_results({imported()})->known, 3);
  EXPECT_EQ(store.sweeps()->size(), 1U);
  const ImportCounts counts = store.import_results({imported(300)}).value();
  EXPECT_EQ(counts.picks, 1);
  EXPECT_EQ(counts.outcomes, 1);
  EXPECT_EQ(counts.known, 1);
  EXPECT_THAT(rows(store), ElementsAre("row VEC=4 compile_failed -", "row VEC=8 ok 300"));
  EXPECT_EQ(store.tuned()->front().tuned.median_ns, 300);
}

TEST_F(StoreImportTest, AllOrNothing) {
  Store store = open();
  {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(database
                    ->execute("CREATE TRIGGER full BEFORE INSERT ON outcomes"
                              " WHEN NEW.outcome = 'compile_failed'"
                              " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
                    .ok());
  }
  const Status status = store.import_results({imported()}).status();
  EXPECT_THAT(status.message(), HasSubstr("the disk is full"));
  EXPECT_TRUE(store.sweeps()->empty());
  EXPECT_TRUE(store.tuned()->empty());
  EXPECT_TRUE(store.outcomes()->empty());
}

TEST_F(StoreImportTest, AReaderImportsNothing) {
  ASSERT_TRUE(open().import_results({imported()}).ok());
  const std::string before = content();
  Store reader = Store::open(path_, Store::Mode::read_only).value();
  EXPECT_FALSE(reader.import_results({imported(400)}).ok());
  EXPECT_EQ(content(), before);
}

}  // namespace
}  // namespace mgtune
