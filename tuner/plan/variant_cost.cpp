#include "plan/variant_cost.h"

namespace mgtune {
namespace {

// The cost on a GPU of a variant with a light kernel. The check and the timing launch the kernel
// some hundred times, so a byte costs far more than it would in a single launch.
constexpr VariantCost kOnGpu{0.2, 0.02};
constexpr double kGpuBytesPerSecond = 10e9;

// The cpu device compiles with the host compiler and interprets each launch.
constexpr VariantCost kEmulated{1, 0.05};
constexpr double kEmulatedBytesPerSecond = 2e6;

}  // namespace

Result<VariantCost> estimated_cost(const Problem& problem, DeviceKind device) {
  MGTUNE_ASSIGN(const std::int64_t bytes, problem.op->bytes.evaluate(problem.slots));
  const bool is_emulated = device == DeviceKind::cpu;
  VariantCost cost = is_emulated ? kEmulated : kOnGpu;
  cost.measure_seconds +=
      static_cast<double>(bytes) / (is_emulated ? kEmulatedBytesPerSecond : kGpuBytesPerSecond);
  return cost;
}

}  // namespace mgtune
