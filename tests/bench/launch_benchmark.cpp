// What a launch costs on the host besides the kernel: the look-up, the launch-time expressions, the
// checks and the argument block, on a device that does nothing. The bound to keep: 200 ns.

#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "dispatch/plan.h"
#include "tests/helpers/toy_operators.h"

namespace mgtune {
namespace {

// A plan for toy.norm with `rows` tuned rows over four variants.
struct NormPlan {
  explicit NormPlan(std::int64_t rows) {
    declare_toy_kernels(device);
    std::vector<TunedEntry> tuned;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::array<const char*, 4> variants = {"row THREADS=32 VEC=4", "row THREADS=64 VEC=4",
                                                   "row THREADS=128 VEC=4",
                                                   "row THREADS=256 VEC=4"};
      tuned.push_back(tuned_entry(op, "rows=" + std::to_string(1 + i * i * 16) + ",hidden=64,T=f32",
                                  variants[std::size_t(i) % 4], device.info()));
    }
    Builder builder = fake_builder();
    plan = std::move(*Plan::make(device, builder, binding, {{1, 65536}, {1, 0}}, tuned));
  }

  FakeDevice device;
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  std::unique_ptr<Plan> plan;
};

void LaunchWithRandomRows(benchmark::State& state) {
  const NormPlan norm(state.range(0));
  std::vector<std::int64_t> rows(4096);
  std::minstd_rand random(1);
  for (std::int64_t& value : rows) value = 1 + static_cast<std::int64_t>(random() % 65536);
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
  declare_toy_kernels(device);
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  Builder builder = fake_builder();
  const auto plan = std::move(*Plan::make(device, builder, binding, {{1, 8}, {1, 4096}}, {}));
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

}  // namespace
}  // namespace mgtune
