#include "ceilings/arithmetic_ceiling.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/random_memory.h"
#include "ceilings/shape_race.h"
#include "family/source_tree.h"

namespace mgtune {
namespace {

constexpr std::int64_t kTableWords = 1 << 16;  // stays in the caches
constexpr std::int64_t kFirstSteps = 2;
constexpr std::int64_t kMaxSteps = 1 << 20;
constexpr double kLaunchNs = 1e6;
constexpr double kBurstSeconds = 0.05;

// For a measurement that only tells how many steps a launch needs. A timer may take as long again
// for samples that it repeats because the clocks are low, as they are under this load.
constexpr double kSizingSeconds = 0.01;

class ArithmeticBench {
 public:
  ArithmeticBench(Device& device, Timer& timer, const ArithmeticKernel& kernel)
      : device_(device), timer_(timer), kernel_(kernel) {}

  Status prepare(Builder& builder) {
    const SourceTree sources = embedded_source_tree("kernels/common");
    std::vector<std::string> names;
    std::int64_t max_floats = 0;
    for (const ArithmeticShape& shape : kernel_.shapes) {
      names.push_back(shape.kernel);
      max_floats = std::max(max_floats, blocks(shape) * shape.block_floats);
    }
    MGTUNE_ASSIGN(const Build build,
                  builder.build({&sources, kernel_.source, std::move(names), kernel_.arch}));
    MGTUNE_ASSIGN(module_, device_.load(build));
    MGTUNE_ASSIGN(RandomMemory memory, RandomMemory::make(device_, builder, kernel_.dtype));
    MGTUNE_ASSIGN(table_, memory.allocate(kTableWords * sizeof(std::uint32_t), 1));
    MGTUNE_ASSIGN(out_, Buffer::allocate(device_, bytes_of(max_floats)));
    return device_.synchronize(nullptr);
  }

  // Nanoseconds per operation.
  Result<ShapeCost> cost(const ArithmeticShape& shape, double best) {
    MGTUNE_ASSIGN(const std::int64_t steps, steps_for(shape));
    TimingBudget budget;
    budget.max_seconds = kBurstSeconds;
    return measure_cost(timer_, work(shape, steps), budget, flops(shape, steps), best);
  }

  Status check(const ArithmeticShape& shape) {
    MGTUNE_ASSIGN(const std::int64_t steps, steps_for(shape));
    std::vector<float> out(static_cast<std::size_t>(blocks(shape) * shape.block_floats));
    const std::size_t bytes = out.size() * sizeof(float);
    MGTUNE_TRY(device_.fill_bytes(out_.data(), 0xff, bytes, nullptr));
    MGTUNE_TRY(launch(shape, steps, nullptr));
    MGTUNE_TRY(device_.synchronize(nullptr));
    std::vector<std::uint32_t> table(kTableWords);
    MGTUNE_TRY(device_.copy_to_host(table.data(), table_.data(), table_.bytes()));
    MGTUNE_TRY(device_.copy_to_host(out.data(), out_.data(), bytes));
    const auto floats = static_cast<std::size_t>(shape.block_floats);
    const auto shape_index = static_cast<std::size_t>(&shape - kernel_.shapes.data());
    const std::int64_t last = blocks(shape) - 1;
    for (const std::int64_t index : std::set<std::int64_t>{0, last / 2, last}) {
      const auto block = std::span(out).subspan(static_cast<std::size_t>(index) * floats, floats);
      MGTUNE_TRY(kernel_.check(shape_index, {index, steps, table, block})
                     .with_context("the ceiling of " + kernel_.source + ": " + shape.kernel));
    }
    return {};
  }

 private:
  static std::size_t bytes_of(std::int64_t floats) {
    return static_cast<std::size_t>(floats) * sizeof(float);
  }

  std::int64_t blocks(const ArithmeticShape& shape) const {
    return shape.blocks_per_sm * std::max<std::int64_t>(1, device_.info().limits.sm_count);
  }

  double flops(const ArithmeticShape& shape, std::int64_t steps) const {
    return static_cast<double>(blocks(shape) * shape.block_flops) * static_cast<double>(steps);
  }

  // A number of steps with which a launch takes at least kLaunchNs, so that its start and end do
  // not matter.
  Result<std::int64_t> steps_for(const ArithmeticShape& shape) {
    TimingBudget budget;
    budget.max_samples = budget.min_samples;
    budget.max_seconds = kSizingSeconds;
    std::int64_t steps = kFirstSteps;
    while (steps < kMaxSteps) {
      MGTUNE_ASSIGN(const ShapeCost time, measure_cost(timer_, work(shape, steps), budget, 1, 0));
      const double ns = time.cost;
      if (ns >= kLaunchNs) break;
      // A short launch is mostly its start. If steps are missing, the next round shows it.
      const double factor = std::clamp(1.2 * kLaunchNs / std::max(ns, 1.0), 1.5, 64.0);
      steps = std::min(kMaxSteps, static_cast<std::int64_t>(factor * static_cast<double>(steps)));
    }
    return steps;
  }

  TimedWork work(const ArithmeticShape& shape, std::int64_t steps) {
    return
        [this, &shape, steps](std::int64_t, Stream stream) { return launch(shape, steps, stream); };
  }

  Status launch(const ArithmeticShape& shape, std::int64_t steps, Stream stream) {
    MGTUNE_ASSIGN(const Kernel* const kernel, module_->kernel(shape.kernel));
    void* out = out_.data();
    void* in = table_.data();
    auto words = static_cast<std::int32_t>(kTableWords);
    auto step_count = static_cast<std::int32_t>(steps);
    std::array<void*, 4> args = {&out, &in, &words, &step_count};
    return device_.launch({.kernel = kernel,
                           .grid = {static_cast<std::uint32_t>(blocks(shape)), 1, 1},
                           .block = {shape.threads, 1, 1},
                           .shared_bytes = shape.shared_bytes,
                           .args = args.data(),
                           .stream = stream});
  }

  Device& device_;
  Timer& timer_;
  const ArithmeticKernel& kernel_;
  std::unique_ptr<Module> module_;
  Buffer table_, out_;
};

}  // namespace

Result<CeilingRecord> measure_arithmetic(Device& device, Builder& builder, Timer& timer,
                                         const ArithmeticKernel& kernel) {
  ArithmeticBench bench(device, timer, kernel);
  MGTUNE_TRY(bench.prepare(builder).with_context("the ceiling of " + kernel.source));
  return fastest_shape(bench, std::span<const ArithmeticShape>(kernel.shapes));
}

}  // namespace mgtune
