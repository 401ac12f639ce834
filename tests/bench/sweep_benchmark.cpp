// What the thread that drives a sweep computes for a variant. The workers are fakes, which answer
// at once (tests/helpers/fakes/fake_worker.cpp). The sweep has the 96 problems that the operators
// of rmsnorm have by themselves, for an H200; it needs NVRTC, which names the compiler, and no GPU.
// The column `CPU` has the processor time of that thread in the whole sweep, `us_per_variant` that
// of one variant, `late` that of one variant in the second half of the sweep, and `longest_ms` the
// longest one between two results. What a search computes on a thread of its own is in none of
// them.

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "family/catalog.h"
#include "plan/problem_set.h"
#include "selection/variant_selection.h"
#include "sweep/sweep.h"
#include "system/file_system.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<DeviceInfo> h200s(std::int64_t count) {
  std::vector<DeviceInfo> devices;
  for (std::int64_t i = 0; i < count; ++i) {
    DeviceInfo& device = devices.emplace_back();
    device.kind = DeviceKind::cuda;
    device.id = "GPU-made-up-" + std::to_string(i);
    device.name = "NVIDIA H200";
    device.arch = "sm_90";
    device.index = static_cast<int>(i);
    device.limits = kH200;
  }
  return devices;
}

std::vector<PlannedProblem> planned(Catalog& catalog, const DeviceInfo& device) {
  std::vector<const Operator*> operators;
  for (const char* name : {"forward", "add_forward", "backward", "add_backward"}) {
    operators.push_back(must(catalog.find_operator(std::string("rmsnorm.") + name)));
  }
  std::vector<PlannedProblem> all;
  for (const Problem& problem : must(make_problems(operators, {}, device.kind))) {
    all.push_back(plan_problem(problem, device, 1 << 20));
  }
  return all;
}

// The processor time at half of the variants, and the longest between two of them.
struct Clock {
  std::int64_t half = 0, done = 0;
  double begin = thread_seconds(), at_half = 0, last = begin, longest = 0;

  void note() {
    const double now = thread_seconds();
    longest = std::max(longest, now - std::exchange(last, now));
    if (++done == half) at_half = now;
  }
};

void sweep(benchmark::State& state, const std::string& strategy, std::int64_t evaluations,
           std::optional<double> seconds) {
  const TestFolder folder;
  const Variable spread("FAKE_WORKER_SPREAD", "yes");
  const std::vector<DeviceInfo> devices = h200s(state.range(0));
  Catalog catalog(FileSystem::real());
  std::vector<PlannedProblem> problems = planned(catalog, devices.front());
  std::int64_t number = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    Store store =
        must(Store::open(folder.file(std::to_string(++number) + ".db"), Store::Mode::read_write));
    SweepOptions options;
    options.kernel = "rmsnorm";
    options.strategy = strategy;
    options.method = {"rotating", ""};
    options.program = fake_worker_path();
    options.lock_directory = folder.path();
    options.compile_processes = 2;
    options.budget.seconds = seconds;
    if (evaluations > 0) options.budget.evaluations = evaluations;
    Clock clock;
    clock.half = evaluations * std::ssize(problems) / 2;
    state.ResumeTiming();
    const Result<SweepSummary> summary = run_sweep(
        options, devices, problems, store, [&](const SweepProgress&) { clock.note(); },
        [] { return false; });
    state.PauseTiming();
    if (!summary.ok()) {
      state.SkipWithError(summary.status().message().c_str());
      return;
    }
    const double all = thread_seconds() - clock.begin;
    const auto evaluated = static_cast<double>(summary->evaluated);
    state.counters["variants"] = evaluated;
    state.counters["us_per_variant"] = 1e6 * all / evaluated;
    state.counters["longest_ms"] = 1e3 * clock.longest;
    if (clock.at_half > 0) {
      state.counters["late"] = 1e6 * (all - (clock.at_half - clock.begin)) / (evaluated / 2);
    }
    state.ResumeTiming();
  }
}

// So many variants of each problem, for one GPU or two.
void SweepVariants(benchmark::State& state) { sweep(state, "exhaustive", state.range(1), {}); }
BENCHMARK(SweepVariants)
    ->ArgNames({"gpus", "variants"})
    ->Args({1, 2})
    ->Args({1, 40})
    ->Args({2, 40})
    ->Args({1, 340})
    ->Args({1, 4000})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// As `mgtune sweep rmsnorm --budget 8m`, with less time. Most of it goes into the search.
void SweepInTime(benchmark::State& state) {
  sweep(state, "adaptive", 0, static_cast<double>(state.range(1)));
}
BENCHMARK(SweepInTime)
    ->ArgNames({"gpus", "seconds"})
    ->Args({1, 1})
    ->Args({1, 20})
    ->Args({1, 120})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mgtune
