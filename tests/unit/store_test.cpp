#include "store/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "store/database.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

TEST_F(StoreTest, EqualContentHasOneId) {
  Store store = open();
  const std::int64_t id = *store.gpu_id(kH200Record);
  EXPECT_EQ(*store.gpu_id(kH200Record), id);
  GpuRecord slice = kH200Record;
  slice.mig_profile = "1g.18gb";
  EXPECT_NE(*store.gpu_id(slice), id);
  EXPECT_EQ(*store.environment_id(kEnvironment), *store.environment_id(kEnvironment));
}

TEST_F(StoreTest, AProblemKeepsItsIdWhenItsCostIsCorrected) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  ASSERT_TRUE(store.record(record).ok());
  EXPECT_EQ(*store.problem_id("rmsnorm.forward", "rows=4 hidden=64 T=f32", 5, 6),
            record.key.problem);
  EXPECT_NE(*store.problem_id("rmsnorm.backward", "rows=4 hidden=64 T=f32", 5, 6),
            record.key.problem);
  const std::vector<OutcomeView> outcomes = *store.outcomes();
  EXPECT_EQ(outcomes.at(0).bytes, 5);
  EXPECT_EQ(outcomes.at(0).flops, 6);
}

TEST_F(StoreTest, AnOutcomeComesBackWhole) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store, kH200Record);
  ASSERT_TRUE(store.record(record).ok());
  const std::vector<OutcomeView> outcomes = *store.outcomes(record.sweep);
  ASSERT_EQ(outcomes.size(), 1u);
  const OutcomeView& view = outcomes[0];
  EXPECT_EQ(view.sweep, record.sweep);
  EXPECT_EQ(view.gpu, kH200Record);
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

TEST_F(StoreTest, AFailedBuildIsAnOutcomeWithNeitherCheckNorMeasurement) {
  Store store = open();
  OutcomeRecord record = outcome_in(store);
  record.outcome = Outcome::compile_failed;
  record.message = "error: no such type";
  record.key.build_sha256 = "";
  record.build = {"key-2", "", "cpu", "error: no such type", -1, -1, -1, Outcome::compile_failed};
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
  EXPECT_EQ(all[1].gpu, kH200Record);
  EXPECT_EQ(store.outcomes(old_sweep.sweep)->at(0).outcome, Outcome::ok);
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

TEST_F(StoreTest, SweepsComeBackInOrderAndAreFinishedOnce) {
  Store store = open();
  const std::int64_t first = outcome_in(store).sweep;
  outcome_in(store, kH200Record);
  EXPECT_EQ(store.sweeps()->at(0).sweep.finished_at, "");
  ASSERT_TRUE(store.finish_sweep(first, "2026-11-21T09:05:00Z").ok());
  EXPECT_EQ(store.finish_sweep(77, "x").code(), StatusCode::invalid_argument);
  const std::vector<SweepView> sweeps = *store.sweeps();
  ASSERT_EQ(sweeps.size(), 2u);
  EXPECT_EQ(sweeps[0].sweep.id, first);
  EXPECT_EQ(sweeps[0].sweep.command, "mgtune sweep --kernel rmsnorm");
  EXPECT_EQ(sweeps[0].sweep.finished_at, "2026-11-21T09:05:00Z");
  EXPECT_EQ(sweeps[0].gpu, kCpuRecord);
  EXPECT_EQ(sweeps[0].environment, kEnvironment);
  EXPECT_EQ(sweeps[1].gpu, kH200Record);
}

CeilingRecord ceiling(const std::string& method, std::int64_t bytes, double copy_ns) {
  CeilingRecord ceiling;
  ceiling.kind = "copy";
  ceiling.method = method;
  ceiling.bytes = bytes;
  ceiling.rate = static_cast<double>(bytes) * 1e9 / copy_ns;
  ceiling.measured_at = "2026-11-21T09:00:00Z";
  ceiling.clocks = {1980, 3201, 300, 50, "", 0};
  return ceiling;
}

TEST_F(StoreTest, TunedRowsComeWithTheNewestCeilingOfTheirBytesAndMethod) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);  // of a problem that moves 1000 bytes
  const TunedRecord tuned{record.sweep, record.key.gpu, record.key.problem, "row VEC=8",
                          "sha-1",      "row VEC=1",    "rotating",         100,
                          150,          false};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  EXPECT_EQ(store.tuned()->front().copy_ns, 0) << "none was measured";
  const std::int64_t gpu = record.key.gpu;
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 2000, 70)).ok());
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("graph", 1000, 80)).ok());
  EXPECT_EQ(store.tuned()->front().copy_ns, 0) << "of other bytes, of another method";
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 1000, 95)).ok());
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 1000, 90)).ok());
  EXPECT_DOUBLE_EQ(store.tuned()->front().copy_ns, 90);
}

TEST_F(StoreTest, CeilingsAreTheNewestOfTheirKindMethodAndSize) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  const std::int64_t gpu = record.key.gpu;
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 1000, 95)).ok());
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 2000, 90)).ok());
  CeilingRecord tensor = ceiling("rotating", 0, 1);
  tensor.kind = "mma_bf16";
  tensor.rate = 7e14;
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, tensor).ok());
  const std::int64_t later = outcome_in(store).sweep;
  ASSERT_TRUE(store.record_ceiling(later, gpu, ceiling("rotating", 1000, 80)).ok());
  const std::vector<CeilingView> ceilings = *store.ceilings(gpu);
  ASSERT_EQ(ceilings.size(), 3u);
  EXPECT_EQ(ceilings[0].sweep, later);
  EXPECT_EQ(ceilings[0].driver, kEnvironment.driver);
  EXPECT_DOUBLE_EQ(ceilings[0].ceiling.rate, 1000 * 1e9 / 80);
  EXPECT_EQ(ceilings[0].ceiling.clocks, tensor.clocks);
  EXPECT_EQ(ceilings[1].ceiling.bytes, 2000);
  EXPECT_EQ(ceilings[2].ceiling.kind, "mma_bf16");
  EXPECT_EQ(ceilings[2].ceiling.measured_at, "2026-11-21T09:00:00Z");
  EXPECT_TRUE(store.ceilings(gpu + 1)->empty());
}

FinalRecord final_of(const OutcomeRecord& record) {
  FinalRecord final;
  final.sweep = record.sweep;
  final.gpu = record.key.gpu;
  final.problem = record.key.problem;
  final.method = "rotating";
  final.noise_floor = 0.004;
  final.note = "problem too small to rotate";
  final.not_counted = "no privilege";
  final.finalists = {{"row VEC=8",
                      "sha-1",
                      "launch-1",
                      18.25,
                      18,
                      18.5,
                      0.9,
                      0.89,
                      0.91,
                      true,
                      {18, 18.5, 0.1 + 0.2}},
                     {"row VEC=1", "sha-2", "launch-2", 20, 19, 21, 1, 1, 1, false, {}}};
  final.clocks = {1980, 3201, 300.5, 50, "sw_power_cap", 2};
  return final;
}

TEST_F(StoreTest, AFinalComesBackWithEverySample) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  const FinalRecord final = final_of(record);
  ASSERT_TRUE(store.record_final(final).ok());
  ASSERT_TRUE(store.record_final(final).ok()) << "again: it replaces the first";
  const std::vector<FinalView> views = *store.finals("rmsnorm.forward");
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].op, "rmsnorm.forward");
  EXPECT_EQ(views[0].problem, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(views[0].gpu, kCpuRecord);
  EXPECT_EQ(views[0].final.noise_floor, 0.004);
  EXPECT_EQ(views[0].final.note, "problem too small to rotate");
  EXPECT_EQ(views[0].final.not_counted, "no privilege");
  EXPECT_EQ(views[0].final.clocks, final.clocks);
  ASSERT_EQ(views[0].final.finalists.size(), 2u);
  const FinalistRecord& first = views[0].final.finalists[0];
  EXPECT_EQ(first.variant, "row VEC=8");
  EXPECT_EQ(first.build_sha256, "sha-1");
  EXPECT_EQ(first.launch_hash, "launch-1");
  EXPECT_EQ(first.median_low_ns, 18);
  EXPECT_EQ(first.median_high_ns, 18.5);
  EXPECT_EQ(first.ratio_low, 0.89);
  EXPECT_TRUE(first.tied);
  EXPECT_EQ(first.samples_ns, final.finalists[0].samples_ns);
  EXPECT_TRUE(views[0].final.finalists[1].samples_ns.empty());
  EXPECT_TRUE(store.finals("swiglu.forward")->empty());
}

TEST_F(StoreTest, TheNewestFinalOfAProblemCounts) {
  Store store = open();
  ASSERT_TRUE(store.record_final(final_of(outcome_in(store))).ok());
  FinalRecord later = final_of(outcome_in(store));
  later.noise_floor = 0.001;
  ASSERT_TRUE(store.record_final(later).ok());
  later.method = "graph";
  ASSERT_TRUE(store.record_final(later).ok());
  const std::vector<FinalView> views = *store.finals();
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[1].final.noise_floor, 0.001);
  EXPECT_EQ(views[1].final.sweep, later.sweep);
}

TEST_F(StoreTest, SamplesThatAreNoNumbersAreCorrupt) {
  Store store = open();
  ASSERT_TRUE(store.record_final(final_of(outcome_in(store))).ok());
  for (const char* samples : {"", "[1,]", "[,1]", "[1 2]", "[x]", "1,2", "[1"}) {
    {
      const auto database = Database::open(path_, Database::Access::read_write).value();
      Statement update = *database->query("UPDATE finalists SET samples_ns = ?", samples);
      ASSERT_TRUE(update.run().ok());
    }
    EXPECT_EQ(store.finals().status().code(), StatusCode::corrupt) << samples;
  }
}

TEST_F(StoreTest, CountersAreThoseOfTheNewestRunThatCounted) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  const std::vector<CounterRecord> first = {{"dram_read_bytes", 5}, {"registers", 40}};
  ASSERT_TRUE(store.record_counters(record.sweep, record.key, "row VEC=8", first).ok());
  EXPECT_EQ(*store.counters(record.key), first);
  const std::vector<CounterRecord> second = {{"l2_hit_percent", 12.5}};
  const std::int64_t later = outcome_in(store).sweep;
  ASSERT_TRUE(store.record_counters(later, record.key, "row VEC=8", first).ok());
  ASSERT_TRUE(store.record_counters(later, record.key, "row VEC=8", second).ok());
  EXPECT_EQ(*store.counters(record.key), second) << "not mixed with those of the first run";
  const std::vector<CounterView> views = *store.counters("rmsnorm.forward");
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].variant, "row VEC=8");
  EXPECT_EQ(views[0].build_sha256, "sha-1");
  EXPECT_EQ(views[0].counters, second);
  ResultKey other = record.key;
  other.launch_hash = "launch-2";
  EXPECT_TRUE(store.counters(other)->empty());
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

TEST_F(StoreTest, TunedRowsReplaceThoseOfTheirGpuProblemAndMethod) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  TunedRecord tuned{record.sweep, record.key.gpu, record.key.problem, "row VEC=8",
                    "sha-1",      "row VEC=1",    "emulation",        100,
                    150,          false};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  tuned.variant = "row VEC=4";
  tuned.median_ns = 80;
  tuned.tie = true;
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  tuned.method = "cold";
  tuned.default_variant = "";
  tuned.default_median_ns = std::nan("");
  ASSERT_TRUE(store.record_tuned(tuned).ok());

  const std::vector<TunedView> rows = *store.tuned("rmsnorm.forward");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].tuned.method, "cold");
  EXPECT_EQ(rows[0].tuned.default_variant, "");
  EXPECT_TRUE(std::isnan(rows[0].tuned.default_median_ns));
  EXPECT_EQ(rows[1].tuned.variant, "row VEC=4");
  EXPECT_EQ(rows[1].tuned.default_variant, "row VEC=1");
  EXPECT_EQ(rows[1].tuned.build_sha256, "sha-1");
  EXPECT_EQ(rows[1].tuned.median_ns, 80);
  EXPECT_EQ(rows[1].tuned.default_median_ns, 150);
  EXPECT_TRUE(rows[1].tuned.tie);
  EXPECT_EQ(rows[1].tuned.gpu, record.key.gpu);
  EXPECT_EQ(rows[1].tuned.problem, record.key.problem);
  EXPECT_EQ(rows[1].tuned.sweep, record.sweep);
  EXPECT_EQ(rows[1].gpu, kCpuRecord);
  EXPECT_EQ(rows[1].op, "rmsnorm.forward");
  EXPECT_EQ(rows[1].problem, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(rows[1].bytes, 1e3);
  EXPECT_EQ(store.tuned()->size(), 2u);
  EXPECT_TRUE(store.tuned("swiglu.forward")->empty());

  ASSERT_TRUE(store.withdraw_tuned(record.key.gpu, record.key.problem, "cold").ok());
  ASSERT_EQ(store.tuned()->size(), 1u);
  EXPECT_EQ(store.tuned()->front().tuned.method, "emulation");
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

TEST_F(StoreTest, TwoProcessesWriteAtOnceAndBothSucceed) {
  constexpr int kRows = 50;
  const auto write_rows = [&](const std::string& name) {
    Store store = open();
    OutcomeRecord record = outcome_in(store);
    for (int i = 0; i < kRows; ++i) {
      record.variant = name + std::to_string(i);
      if (!store.record(record).ok()) return 1;
    }
    return 0;
  };
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = ::fork();
    ASSERT_GE(children[i], 0);
    if (children[i] == 0) ::_exit(write_rows("process " + std::to_string(i) + " row "));
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Store reader = Store::open(path_, Store::Mode::read_only).value();
  EXPECT_EQ(reader.outcomes()->size(), 2u * kRows);
  EXPECT_EQ(reader.sweeps()->size(), 2u);
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

TEST(DefaultDatabasePath, IsTheFirstThatTheEnvironmentNames) {
  ::setenv("HOME", "/home/someone", 1);
  ::unsetenv("MGTUNE_DB");
  ::unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(*default_database_path(), "/home/someone/.local/share/mgtune/results.db");
  ::setenv("XDG_DATA_HOME", "relative", 1);  // to be ignored, says the XDG specification
  EXPECT_EQ(*default_database_path(), "/home/someone/.local/share/mgtune/results.db");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(*default_database_path(), "/data/mgtune/results.db");
  ::setenv("MGTUNE_DB", "here.db", 1);
  EXPECT_EQ(*default_database_path(), "here.db");
}

TEST(DefaultDatabasePath, IsNotTheCurrentFolder) {
  for (const char* home : {"", "relative"}) {
    ::setenv("HOME", home, 1);
    ::unsetenv("MGTUNE_DB");
    ::unsetenv("XDG_DATA_HOME");
    const Status status = default_database_path().status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_NE(status.message().find("set XDG_DATA_HOME, or name the database"), std::string::npos);
  }
}

}  // namespace
}  // namespace mgtune
