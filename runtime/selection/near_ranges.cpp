#include "selection/near_ranges.h"

#include <algorithm>
#include <cmath>

#include "selection/gpu_similarity.h"
#include "selection/pick_key.h"
#include "selection/variant_selection.h"

namespace mgtune {

std::vector<DimRange> ranges_of(const Problem& problem) {
  std::vector<DimRange> ranges;
  for (const Dim& dim : problem.op->dims) {
    if (dim.kind == DimKind::fixed) continue;
    const std::int64_t value = problem.slots[std::size_t(dim.slot)];
    ranges.push_back({value, value});
  }
  return ranges;
}

NearRanges::NearRanges(const Operator& op, const std::vector<DimRange>& ranges) {
  std::size_t index = 0;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) continue;
    const DimRange& range = ranges[index++];
    if (range.low > range.high) continue;
    ranges_.push_back(
        {std::size_t(dim.slot), range, log_extent(middle_of(range)), !dim.fallback.has_value()});
  }
}

bool NearRanges::contains(const Slots& problem) const {
  return std::ranges::all_of(ranges_, [&](const Range& one) {
    const std::int64_t value = problem[one.slot];
    return !one.counts || is_near_extent(value, std::clamp(value, one.range.low, one.range.high));
  });
}

double NearRanges::from_middle(const Slots& problem) const {
  double distance = 0;
  for (const Range& one : ranges_) distance += std::abs(log_extent(problem[one.slot]) - one.middle);
  return distance;
}

}  // namespace mgtune
