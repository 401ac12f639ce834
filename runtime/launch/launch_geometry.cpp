#include "launch/launch_geometry.h"

#include <algorithm>
#include <vector>

#include "selection/admission.h"

namespace mgtune {
namespace {

// The product of the values of the expressions, at least 1. 0 if one fails or is 0.
double product(const std::vector<Expression>& extents, const Slots& slots) {
  double all = 1;
  for (const Expression& extent : extents) {
    const Result<std::int64_t> value = extent.evaluate(slots);
    all *= value.ok() ? static_cast<double>(std::max<std::int64_t>(*value, 0)) : 0;
  }
  return all;
}

bool runs(const Launch& launch, const Slots& slots) {
  if (!launch.when) return true;
  const Result<std::int64_t> when = launch.when->evaluate(slots);
  return when.ok() && *when != 0;
}

}  // namespace

std::optional<LaunchGeometry> launch_geometry(const Problem& problem, const Variant& variant,
                                              const DeviceLimits& device) {
  const std::optional<Slots> slots = serving_slots(problem, variant, device);
  if (!slots) return std::nullopt;
  LaunchGeometry widest;
  double most = 0;
  for (const Launch& launch : problem.op->designs[std::size_t(variant.design)].launches) {
    if (!runs(launch, *slots)) continue;
    const double blocks = product(launch.grid, *slots), threads = product(launch.block, *slots);
    if (blocks * threads <= most) continue;
    most = blocks * threads;
    const Result<std::int64_t> shared = launch.shared.evaluate(*slots);
    widest = {blocks, threads, shared.ok() ? static_cast<double>(*shared) : 0};
  }
  return widest;
}

}  // namespace mgtune
