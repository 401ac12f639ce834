// What a launch costs on the host besides the kernel: the look-up, the launch-time expressions, the
// checks and the argument block, on a device that does nothing. The bound to keep: 200 ns. The
// look-up alone, with a bound of 50 ns, and planning, which happens once.

#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "dispatch/dispatch_table.h"
#include "dispatch/plan.h"
#include "dispatch/plan_rules.h"
#include "family/catalog.h"
#include "json/json_value.h"
#include "selection/gpu_similarity.h"
#include "system/file_system.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/test_paths.h"
#include "tests/helpers/tuned_database.h"

namespace mgtune {
namespace {

// A plan for toy.norm with `rows` tuned rows over four variants.
struct NormPlan {
  explicit NormPlan(std::int64_t rows) {
    declare_toy_kernels(device);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::array<const char*, 4> variants = {"row THREADS=32 VEC=4", "row THREADS=64 VEC=4",
                                                   "row THREADS=128 VEC=4",
                                                   "row THREADS=256 VEC=4"};
      tuned.push_back(tuned_entry(op, "rows=" + std::to_string(1 + i * i * 16) + ",hidden=64,T=f32",
                                  variants[std::size_t(i) % 4], device.info()));
    }
    plan = make();
  }

  std::unique_ptr<Plan> make() {
    Builder builder = fake_builder();
    return std::move(*Plan::make(modules, builder, binding, {{1, 65536}, {1, 0}}, tuned));
  }

  FakeDevice device;
  SharedModules modules{device};
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  std::vector<TunedEntry> tuned;
  std::unique_ptr<Plan> plan;
};

std::vector<std::int64_t> random_rows() {
  std::vector<std::int64_t> rows(4096);
  std::minstd_rand random(1);
  for (std::int64_t& value : rows) value = 1 + static_cast<std::int64_t>(random() % 65536);
  return rows;
}

void MakePlan(benchmark::State& state) {
  NormPlan norm(state.range(0));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(norm.make());
}
BENCHMARK(MakePlan)->Arg(0)->Arg(32)->Unit(benchmark::kMicrosecond);

// What mgr_plan does besides loading, which the fake device does in no time, with so many tuned
// problems of the operator in the database, for 100 values of the static dim or all for the plan's
// own. The bound to keep: 1 ms.
void PlanFromDatabase(benchmark::State& state) {
  TunedDatabase database(state.range(0), state.range(1));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(database.plan());
}
BENCHMARK(PlanFromDatabase)
    ->ArgNames({"problems", "bindings"})
    ->Args({100, 100})
    ->Args({10'000, 100})
    ->Args({10'000, 1})
    ->Unit(benchmark::kMicrosecond);

// What mgr_open reads of such a database.
void OpenDatabase(benchmark::State& state) {
  TunedDatabase database(state.range(0), 100);
  for ([[maybe_unused]] auto _ : state) database.open();
}
BENCHMARK(OpenDatabase)->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);

// Which of four variants serves the dims.
void LookUpVariant(benchmark::State& state) {
  const NormPlan norm(state.range(0));
  std::vector<DispatchRow> tuned_rows;
  for (std::size_t i = 0; i < norm.tuned.size(); ++i) {
    tuned_rows.push_back({i % 4, 0, norm.tuned[i].problem.slots, ""});
  }
  const DispatchTable table(norm.op, 4, tuned_rows);
  std::vector<std::int64_t> slots = tuned_rows.front().slots;
  const auto rows_slot = std::size_t(norm.op.dims.front().slot);
  const std::vector<std::int64_t> rows = random_rows();
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    slots[rows_slot] = rows[next++ % rows.size()];
    benchmark::DoNotOptimize(table.find(slots));
  }
}
BENCHMARK(LookUpVariant)->Arg(4)->Arg(16)->Arg(32);

// Planning with rules.
void MakePlanWithRules(benchmark::State& state) {
  NormPlan norm(0);
  const Evidence evidence = toy_evidence(norm.op, norm.device.info());
  Builder builder = fake_builder();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(
        Plan::make(norm.modules, builder, norm.binding, {{1, 65536}, {1, 0}}, evidence));
  }
}
BENCHMARK(MakePlanWithRules)->Unit(benchmark::kMicrosecond);

// The look-up in rules with one condition on the dims of the launch.
void LookUpRules(benchmark::State& state) {
  NormPlan norm(0);
  const PlanRules rules(toy_rules(norm.op, norm.device.info()), norm.binding, {{1, 65536}, {1, 0}},
                        norm.device.info());
  Slots slots = norm.binding.slots;
  const std::vector<std::int64_t> rows = random_rows();
  const auto rows_slot = std::size_t(norm.op.dims.front().slot);
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    slots[rows_slot] = rows[next++ % rows.size()];
    benchmark::DoNotOptimize(rules.find(slots));
  }
}
BENCHMARK(LookUpRules);

// The same in the rules of rmsnorm.backward on an H200, which have 13 leaves.
void LookUpShippedRules(benchmark::State& state) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find_operator("rmsnorm.backward").value();
  const std::string file = source_path("results/h200/rmsnorm.backward.rules.json");
  const auto of_file = std::make_shared<const Rules>(
      must(read_rules(file, must(parse_json(file_content(file))), op)));
  const Binding binding = bound(op, {{"hidden", "4096"}, {"T", "bf16"}, {"dw", "true"}});
  const PlanRules rules(of_file, binding, {{1, 65536}, {1, 0}}, device_of(of_file->gpu));
  Slots slots = binding.slots;
  const std::vector<std::int64_t> rows = random_rows();
  const auto rows_slot = std::size_t(op.dims.front().slot);
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    slots[rows_slot] = rows[next++ % rows.size()];
    benchmark::DoNotOptimize(rules.find(slots));
  }
}
BENCHMARK(LookUpShippedRules);

void LaunchWithRandomRows(benchmark::State& state) {
  const NormPlan norm(state.range(0));
  const std::vector<std::int64_t> rows = random_rows();
  alignas(16) std::array<float, 4> memory{};
  const std::array<void*, 3> tensors = {memory.data(), memory.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::array<std::int64_t, 2> dims = {rows[next++ % rows.size()], -1};
    if (!norm.plan->launch({dims, tensors, scalars, nullptr, nullptr}).ok()) {
      state.SkipWithError("a launch failed");
    }
  }
}
BENCHMARK(LaunchWithRandomRows)->Arg(0)->Arg(4)->Arg(16)->Arg(32);

void LaunchTwoKernelsWithAWorkspace(benchmark::State& state) {
  FakeDevice device;
  SharedModules modules{device};
  declare_toy_kernels(device);
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  Builder builder = fake_builder();
  const auto plan = std::move(*Plan::make(modules, builder, binding, {{1, 8}, {1, 4096}}, {}));
  void* workspace = *device.allocate(std::size_t(plan->workspace_size().bytes));
  alignas(16) std::array<float, 4> memory{};
  const std::array<void*, 2> tensors = {memory.data(), memory.data()};
  const std::array<std::int64_t, 2> dims = {4, 4096};
  for ([[maybe_unused]] auto _ : state) {
    if (!plan->launch({dims, tensors, {}, workspace, nullptr}).ok()) {
      state.SkipWithError("a launch failed");
    }
  }
  device.free(workspace);
}
BENCHMARK(LaunchTwoKernelsWithAWorkspace);

// Estimates decide at each launch which of two variants runs. Each reads 12 lets, about as many as
// gemm.forward's.
void LaunchByEstimates(benchmark::State& state) {
  std::string lets = "\"let\": {\"l0\": \"ceil_div(rows, THREADS * device.sm_count)\"";
  for (int i = 1; i < 12; ++i) {
    lets += ", \"l" + std::to_string(i) + "\": \"max(l" + std::to_string(i - 1) +
            ", rows / THREADS) * 3 / 2\"";
  }
  std::string family = kToyNorm;
  family.insert(family.find("\"align\""), lets + "}, \"estimate\": \"l11\", ");
  const Operator op = decode_toy("toy.norm", family);
  FakeDevice device;
  SharedModules modules{device};
  declare_toy_kernels(device);
  Builder builder = fake_builder();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const auto plan = std::move(*Plan::make(modules, builder, binding, {{1, 65536}, {1, 0}}, {}));
  alignas(16) std::array<float, 16> memory{};
  const std::array<void*, 3> tensors = {memory.data(), memory.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  const std::array<std::int64_t, 2> dims = {4000, -1};
  for ([[maybe_unused]] auto _ : state) {
    if (!plan->launch({dims, tensors, scalars, nullptr, nullptr}).ok()) {
      state.SkipWithError("a launch failed");
    }
  }
  state.SetLabel(std::to_string(plan->variants().size()) + " variants");
}
BENCHMARK(LaunchByEstimates);

}  // namespace
}  // namespace mgtune
