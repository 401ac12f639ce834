// Outcomes in a store, with their builds, checks and measurements: what comes back, what is found
// by its key, and which of several counts.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "database/database.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

TEST_F(StoreTest, AnOutcomeComesBackWhole) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store, kH200Record);
  ASSERT_TRUE(store.record(record).ok());
  const std::vector<OutcomeView> outcomes = *store.outcomes(record.sweep);
  ASSERT_EQ(outcomes.size(), 1u);
  const OutcomeView& view = outcomes[0];
  EXPECT_EQ(view.sweep, record.sweep);
  EXPECT_EQ(gpu_text(view.gpu), gpu_text(kH200Record));
  EXPECT_EQ(view.gpu_id, record.key.gpu);
  EXPECT_EQ(view.op, "rmsnorm.forward");
  EXPECT_EQ(view.problem, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(view.variant, "row VEC=8");
  EXPECT_EQ(view.bytes, 1e3);
  EXPECT_EQ(view.outcome, Outcome::ok);
  EXPECT_EQ(view.build_sha256, "sha-1");
  EXPECT_EQ(view.registers, 40);
  EXPECT_EQ(view.spill_bytes, 0);
  EXPECT_EQ(view.static_shared_bytes, 16);
  ASSERT_TRUE(view.check && view.measurement);
  EXPECT_EQ(view.check->error, 1e-7);
  EXPECT_EQ(view.check->tolerance, 2e-6);
  EXPECT_EQ(view.measurement->method, "emulation");
  EXPECT_EQ(view.measurement->median_ns, 100.5);
  EXPECT_EQ(view.measurement->q1_ns, 99);
  EXPECT_EQ(view.measurement->q3_ns, 102);
  EXPECT_EQ(view.measurement->min_ns, 98);
  EXPECT_EQ(view.measurement->samples, 31);
  EXPECT_EQ(view.measurement->note, "a note");
}

TEST_F(StoreTest, OutcomesOfOneTransactionAreRecordedTogetherOrNotAtAll) {
  Store store = open();
  std::vector<OutcomeRecord> records(2, outcome_in(store));
  records[1].variant = "row VEC=4";
  records[1].key.build_sha256 = records[1].build.sha256 = records[1].build.key = "another";
  std::vector<OutcomeRecord> homeless = records;
  homeless[1].key.problem += 100;  // which the store does not have
  EXPECT_EQ(store.record(homeless).code(), StatusCode::invalid_argument);
  EXPECT_TRUE(store.outcomes()->empty());
  ASSERT_TRUE(store.record(records).ok());
  EXPECT_EQ(store.outcomes()->size(), 2U);
}

TEST_F(StoreTest, AFailedBuildIsAnOutcomeWithNeitherCheckNorMeasurement) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  record.outcome = Outcome::compile_failed;
  record.message = "error: no such type";
  record.key.build_sha256 = "";
  record.build = {{}, "key-2", "", "cpu", "error: no such type", Outcome::compile_failed};
  record.check.reset();
  record.measurement.reset();
  ASSERT_TRUE(store.record(record).ok());
  const OutcomeView view = store.outcomes()->at(0);
  EXPECT_EQ(view.outcome, Outcome::compile_failed);
  EXPECT_EQ(view.message, "error: no such type");
  EXPECT_EQ(view.registers, -1);
  EXPECT_FALSE(view.check.has_value());
  EXPECT_FALSE(view.measurement.has_value());
  const std::optional<BuildRecord> build = *store.find_build("key-2");
  ASSERT_TRUE(build.has_value());
  EXPECT_EQ(build->sha256, "");
  EXPECT_EQ(build->message, "error: no such type");
  EXPECT_EQ(build->outcome, Outcome::compile_failed);
}

TEST_F(StoreTest, AWrongVariantKeepsItsErrorThoughItIsNaN) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  record.outcome = Outcome::wrong;
  record.check = CheckRecord{Outcome::wrong, "y[3] is nan", std::nan(""), 2e-6};
  record.measurement.reset();
  ASSERT_TRUE(store.record(record).ok());
  ASSERT_TRUE(store.record(record).ok());  // NaN equals itself here: no second row
  const OutcomeView view = store.outcomes()->at(0);
  EXPECT_TRUE(std::isnan(view.check->error));
  EXPECT_EQ(view.check->message, "y[3] is nan");
}

TEST_F(StoreTest, FindsByTheWholeKeyOnly) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  EXPECT_FALSE(store.find_build("key-1")->has_value());
  EXPECT_FALSE(store.find_check(record.key)->has_value());
  EXPECT_FALSE(store.find_measurement(record.key, "emulation")->has_value());
  ASSERT_TRUE(store.record(record).ok());
  EXPECT_EQ((*store.find_build("key-1"))->registers, 40);
  EXPECT_EQ((*store.find_check(record.key))->error, 1e-7);
  EXPECT_EQ((*store.find_measurement(record.key, "emulation"))->samples, 31);
  EXPECT_FALSE(store.find_measurement(record.key, "cold")->has_value());

  ResultKey other = record.key;
  other.reference_hash = "reference-2";  // voids the check, not the measurement
  EXPECT_FALSE(store.find_check(other)->has_value());
  EXPECT_TRUE(store.find_measurement(other, "emulation")->has_value());
  for (std::string ResultKey::*part : {&ResultKey::build_sha256, &ResultKey::launch_hash}) {
    other = record.key;
    other.*part = "other";
    EXPECT_FALSE(store.find_check(other)->has_value());
    EXPECT_FALSE(store.find_measurement(other, "emulation")->has_value());
  }
  other = record.key;
  other.gpu = *store.gpu_id(kH200Record);
  EXPECT_FALSE(store.find_measurement(other, "emulation")->has_value());
}

TEST_F(StoreTest, TheNewestResultIsFoundAndTheOldSweepKeepsItsOwn) {
  Store store = open();
  const OutcomeRecord first = outcome_in(store);
  ASSERT_TRUE(store.record(first).ok());
  OutcomeRecord second = outcome_in(store);
  second.measurement->median_ns = 90;
  ASSERT_TRUE(store.record(second).ok());
  EXPECT_EQ((*store.find_measurement(first.key, "emulation"))->median_ns, 90);
  EXPECT_EQ(store.outcomes(first.sweep)->at(0).measurement->median_ns, 100.5);
  EXPECT_EQ(store.outcomes(second.sweep)->at(0).measurement->median_ns, 90);
  // Measured again as at first: that is the newest once more.
  ASSERT_TRUE(store.record(first).ok());
  EXPECT_EQ((*store.find_measurement(first.key, "emulation"))->median_ns, 100.5);
}

TEST_F(StoreTest, ReusedResultsAddNoRows) {
  Store store = open();
  ASSERT_TRUE(store.record(outcome_in(store)).ok());
  ASSERT_TRUE(store.record(outcome_in(store)).ok());  // another sweep, all of it known
  const auto database = Database::open(path_, Database::Access::read_only).value();
  EXPECT_EQ(*database->read_integer("SELECT count(*) FROM outcomes"), 2);
  for (const char* table : {"checks", "measurements", "builds", "variants", "problems", "gpus"}) {
    EXPECT_EQ(*database->read_integer(std::string("SELECT count(*) FROM ") + table), 1) << table;
  }
}

TEST_F(StoreTest, ASweepHasOneOutcomePerVariantAndTheLastCounts) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  record.outcome = Outcome::timeout;
  ASSERT_TRUE(store.record(record).ok());
  record.outcome = Outcome::ok;
  ASSERT_TRUE(store.record(record).ok());
  ASSERT_EQ(store.outcomes(record.sweep)->size(), 1u);
  EXPECT_EQ(store.outcomes(record.sweep)->at(0).outcome, Outcome::ok);
}

TEST_F(StoreTest, OverAllSweepsTheNewestPerGpuProblemAndVariantCounts) {
  Store store = open();
  const OutcomeRecord old_sweep = outcome_in(store);
  OutcomeRecord new_sweep = outcome_in(store);
  const OutcomeRecord other_gpu = outcome_in(store, kH200Record);
  new_sweep.outcome = Outcome::unstable;
  for (const OutcomeRecord& record : {old_sweep, new_sweep, other_gpu}) {
    ASSERT_TRUE(store.record(record).ok());
  }
  const std::vector<OutcomeView> all = *store.outcomes();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].sweep, new_sweep.sweep);
  EXPECT_EQ(all[0].outcome, Outcome::unstable);
  EXPECT_EQ(gpu_text(all[1].gpu), gpu_text(kH200Record));
  EXPECT_EQ(store.outcomes(old_sweep.sweep)->at(0).outcome, Outcome::ok);
}

// Timed by two methods, a variant has two rows; what came to no timing replaces both.
TEST_F(StoreTest, OutcomesAreTheNewestOfEachMethod) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  record.measurement->method = "rotating";
  ASSERT_TRUE(store.record(record).ok());
  record.sweep = outcome_in(store).sweep;
  record.measurement->method = "graph";
  ASSERT_TRUE(store.record(record).ok());
  const auto methods = [&] {
    std::vector<std::string> names;
    const std::vector<OutcomeView> rows = *store.outcomes();
    for (const OutcomeView& row : rows) {
      names.push_back(row.measurement ? row.measurement->method : "none");
      EXPECT_EQ(row.launch_hash, row.measurement ? "launch-1" : "");
    }
    return names;
  };
  EXPECT_EQ(methods(), (std::vector<std::string>{"rotating", "graph"}));
  EXPECT_EQ(store.outcomes(record.sweep)->size(), 1U);
  OutcomeRecord failed = record;
  failed.sweep = outcome_in(store).sweep;
  failed.outcome = Outcome::compile_failed;
  failed.check.reset();
  failed.measurement.reset();
  ASSERT_TRUE(store.record(failed).ok());
  EXPECT_EQ(methods(), std::vector<std::string>{"none"});
  record.sweep = outcome_in(store).sweep;
  ASSERT_TRUE(store.record(record).ok());
  EXPECT_EQ(methods(), std::vector<std::string>{"graph"});
}

TEST_F(StoreTest, OutcomesOfOneOperator) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  ASSERT_TRUE(store.record(record).ok());
  const std::int64_t forward = record.key.problem;
  record.key.problem = *store.problem_id("swiglu.gate_up", "rows=4", 1, 2);
  ASSERT_TRUE(store.record(record).ok());
  EXPECT_EQ(store.outcomes()->size(), 2u);
  ASSERT_EQ(store.outcomes(0, "rmsnorm.forward")->size(), 1u);
  EXPECT_EQ(store.outcomes(0, "rmsnorm.forward")->at(0).problem, "rows=4 hidden=64 T=f32");
  ASSERT_EQ(store.outcomes(record.sweep, "swiglu.gate_up")->size(), 1u);
  EXPECT_EQ(store.outcomes(record.sweep, "swiglu.gate_up")->at(0).problem, "rows=4");
  EXPECT_TRUE(store.outcomes(record.sweep + 1, "swiglu.gate_up")->empty());
  EXPECT_TRUE(store.outcomes(0, "swiglu")->empty());
  EXPECT_EQ(store.outcomes(0, "swiglu.gate_up", "rows=4")->size(), 1u);
  EXPECT_TRUE(store.outcomes(0, "rmsnorm.forward", "rows=4")->empty());
  EXPECT_EQ(store.outcomes(record.sweep, "swiglu.gate_up", "rows=4")->size(), 1u);
  EXPECT_NE(forward, record.key.problem);
}

TEST_F(StoreTest, AnOutcomeOfAnUnknownProblemOrSweepLeavesNothing) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  record.key.problem = 77;
  EXPECT_EQ(store.record(record).code(), StatusCode::invalid_argument);
  record = outcome_in(store);
  record.sweep = 77;
  EXPECT_EQ(store.record(record).code(), StatusCode::internal);
  EXPECT_TRUE(store.outcomes()->empty());
  EXPECT_FALSE(store.find_build("key-1")->has_value());
  EXPECT_TRUE(store.record(outcome_in(store)).ok());  // the store is usable afterwards
}

TEST_F(StoreTest, TextIsStoredAsItIs) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  record.message = "'); DROP TABLE outcomes; --\n\"\xc3\xa9\"";
  record.variant = "row NAME=</script>";
  ASSERT_TRUE(store.record(record).ok());
  EXPECT_EQ(store.outcomes()->at(0).message, record.message);
  EXPECT_EQ(store.outcomes()->at(0).variant, record.variant);
}

TEST(Outcome, WordsRoundTrip) {
  for (int i = 0; i <= static_cast<int>(Outcome::unstable); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_from_string(to_string(outcome)), outcome);
  }
  EXPECT_EQ(to_string(Outcome::compile_failed), "compile_failed");
  EXPECT_EQ(to_string(Outcome::unstable), "unstable");
  EXPECT_FALSE(outcome_from_string("OK").has_value());
}

TEST_F(StoreTest, TheLogOfABinaryIsThatOfItsNewestBuild) {
  Store store = open();
  OutcomeRecord outcome = outcome_in(store);
  const auto record = [&](const std::string& key, const std::string& sha256, Outcome of_build,
                          const std::string& log) {
    outcome.build.key = key;
    outcome.build.sha256 = sha256;
    outcome.build.outcome = of_build;
    outcome.build.message = log;
    ASSERT_TRUE(store.record(outcome).ok());
  };
  record("key-1", "one", Outcome::ok, "an older log");
  record("key-2", "one", Outcome::ok, "Used 40 registers");
  record("key-3", "two", Outcome::ok, "");
  record("key-4", "", Outcome::compile_failed, "error: no such thing");
  const std::vector<BuildLogView> logs = store.build_logs().value();
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].sha256, "one");
  EXPECT_EQ(logs[0].log, "Used 40 registers");
}

}  // namespace
}  // namespace mgtune
