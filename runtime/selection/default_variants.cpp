#include "selection/default_variants.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
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

bool has_estimate(const Operator& op, const Variant& variant) {
  return op.designs[std::size_t(variant.design)].estimate.has_value();
}

}  // namespace

std::vector<std::size_t> ladder_groups(const Operator& op, std::span<const Variant> ladder) {
  std::vector<std::size_t> groups;
  for (std::size_t place = 0; place < ladder.size(); ++place) {
    const bool goes_on =
        place > 0 && has_estimate(op, ladder[place]) && has_estimate(op, ladder[place - 1]);
    groups.push_back(goes_on ? groups.back() : place);
  }
  return groups;
}

std::vector<LadderVariant> ladder_at(const Problem& problem, std::span<const Variant> ladder,
                                     const DeviceLimits& device) {
  const Operator& op = *problem.op;
  const std::vector<std::size_t> groups = ladder_groups(op, ladder);
  std::vector<LadderVariant> found;
  std::size_t begin = 0;  // of the group in `found`
  for (std::size_t place = 0; place < ladder.size(); ++place) {
    if (groups[place] == place) begin = found.size();
    const Variant& variant = ladder[place];
    const std::optional<Slots> slots = serving_slots(problem, variant, device);
    if (!slots) continue;
    LadderVariant here{variant, kNoEstimate};
    if (has_estimate(op, variant)) {
      const auto estimate = op.designs[std::size_t(variant.design)].estimate->evaluate(*slots);
      if (estimate.ok()) here.estimate = *estimate;
    }
    const auto group = found.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto after = std::upper_bound(group, found.end(), here.estimate,
                                        [](std::int64_t estimate, const LadderVariant& other) {
                                          return estimate < other.estimate;
                                        });
    found.insert(after, std::move(here));
  }
  return found;
}

std::vector<Variant> default_variants(const Problem& problem, std::span<const Variant> ladder,
                                      const DeviceLimits& device) {
  const std::vector<std::size_t> groups = ladder_groups(*problem.op, ladder);
  std::vector<Variant> found;
  const auto add = [&](const Variant& variant) {
    if (std::ranges::find(found, variant) == found.end()) found.push_back(variant);
  };
  // Adds the first variant that serves the point, unless `only_any_pointer`, and the first one that
  // also takes any pointer.
  const auto add_first = [&](const Problem& point, bool only_any_pointer) {
    bool is_served = only_any_pointer;
    std::size_t begin = 0;
    while (begin < ladder.size()) {
      std::size_t end = begin + 1;
      while (end < ladder.size() && groups[end] == groups[begin]) ++end;
      const auto group = ladder.subspan(begin, end - begin);
      for (const auto& [variant, estimate] : ladder_at(point, group, device)) {
        if (!std::exchange(is_served, true)) add(variant);
        if (!accepts_any_pointer(point, variant, device)) continue;
        add(variant);
        return;
      }
      begin = end;
    }
  };
  add_first(problem, false);
  add_first(with_odd_strides(problem), true);
  return found;
}

}  // namespace mgtune
