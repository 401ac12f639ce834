// Store writes: one outcome is one synced transaction, so this is what a sweep pays for losing at
// most one variant to a power cut. The file lies in the folder for temporary files (TMPDIR).

#include <benchmark/benchmark.h>

#include <string>

#include "store/store.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

struct OneSweep {
  OneSweep() {
    SweepRecord sweep;
    sweep.gpu = must(store.gpu_id(gpu_record(FakeDevice().info())));
    sweep.environment = must(store.environment_id({"0.1.0", "none", "", "a benchmark"}));
    sweep.command = "mgtune sweep --kernel rmsnorm";
    sweep.started_at = "2026-11-21T09:00:00Z";
    record.sweep = must(store.begin_sweep(sweep));
    record.key.gpu = sweep.gpu;
    record.key.problem = must(store.problem_id("rmsnorm.forward", "rows=4096 hidden=4096", 1, 1));
    record.key.launch_hash = "launch";
    record.key.reference_hash = "reference";
    record.check = CheckRecord{Outcome::ok, "", 1e-3, 8e-3};
    MeasurementRecord measurement;
    measurement.method = "rotating";
    measurement.median_ns = 19000;
    measurement.samples = 40;
    record.measurement = measurement;
  }

  // Every outcome is of a variant and a build of its own, as in a sweep.
  OutcomeRecord& next() {
    const std::string number = std::to_string(++recorded);
    record.variant = "row THREADS_PER_ROW=" + number;
    record.key.build_sha256 = "sha-" + number;
    record.build.key = "key-" + number;
    record.build.sha256 = record.key.build_sha256;
    record.build.arch = "sm_90";
    return record;
  }

  TestFolder folder;
  Store store = must(Store::open(folder.file("results.db"), Store::Mode::read_write));
  OutcomeRecord record;
  std::int64_t recorded = 0;
};

void RecordOutcome(benchmark::State& state) {
  OneSweep sweep;
  for ([[maybe_unused]] auto _ : state) {
    if (!sweep.store.record(sweep.next()).ok()) state.SkipWithError("a write failed");
  }
}
BENCHMARK(RecordOutcome)->Unit(benchmark::kMicrosecond)->UseRealTime();

// What `show` and `report` read of so many outcomes.
void ReadOutcomes(benchmark::State& state) {
  OneSweep sweep;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    if (!sweep.store.record(sweep.next()).ok()) state.SkipWithError("a write failed");
  }
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(sweep.store.outcomes());
  }
}
BENCHMARK(ReadOutcomes)->Arg(1000)->Unit(benchmark::kMillisecond)->UseRealTime();

// What a program reads when it opens a database of so many measurements.
void ReadMeasured(benchmark::State& state) {
  const TestFolder folder;
  Store store = must(Store::open(folder.file("results.db"), Store::Mode::read_write));
  ImportedSweep sweep;
  sweep.gpu = gpu_record(FakeDevice().info());
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    ImportedOutcome outcome;
    outcome.problem = {"rmsnorm.forward", "rows=" + std::to_string(i / 1000) + " hidden=64", 1, 1};
    outcome.variant = "row THREADS_PER_ROW=" + std::to_string(i % 1000);
    outcome.measurement.emplace();
    outcome.measurement->method = "rotating";
    outcome.measurement->median_ns = 19000;
    sweep.outcomes.push_back(std::move(outcome));
  }
  must(store.import_results({sweep}));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(store.measured());
}
BENCHMARK(ReadMeasured)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace mgtune
