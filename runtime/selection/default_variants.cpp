#include "selection/default_variants.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "selection/admission.h"

namespace mgtune {
namespace {

// The same problem with every dim that has a default, such as a stride, one larger.
Problem with_odd_strides(Problem problem) {
  for (const Dim& dim : problem.op->dims) {
    if (dim.kind != DimKind::dynamic || !dim.fallback) continue;
    std::int64_t& extent = problem.slots[std::size_t(dim.slot)];
    if (extent < std::numeric_limits<std::int64_t>::max()) ++extent;  // which is odd itself
  }
  return problem;
}

}  // namespace

std::vector<Variant> default_variants(const Problem& problem, std::span<const Variant> ladder,
                                      const DeviceLimits& device) {
  std::vector<Variant> found;
  const auto add = [&](const Variant& variant) {
    if (std::ranges::find(found, variant) == found.end()) found.push_back(variant);
  };
  // Adds the first variant that serves the point, unless `only_any_pointer`, and the first one that
  // also takes any pointer.
  const auto add_first = [&](const Problem& point, bool only_any_pointer) {
    bool is_served = only_any_pointer;
    for (const Variant& variant : ladder) {
      if (!may_serve(point, variant, device)) continue;
      if (!std::exchange(is_served, true)) add(variant);
      if (!accepts_any_pointer(point, variant, device)) continue;
      add(variant);
      return;
    }
  };
  add_first(problem, false);
  add_first(with_odd_strides(problem), true);
  return found;
}

}  // namespace mgtune
