#include "sweep/space_record.h"

#include <algorithm>
#include <limits>

namespace mgtune {
namespace {

std::int64_t storable(std::uint64_t count) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(count, kMost));
}

}  // namespace

std::vector<SpaceRecord> space_records(const Space& space) {
  std::vector<SpaceRecord> records;
  for (const DesignStatistics& design : space.statistics(kCountedNodes)) {
    SpaceRecord& record = records.emplace_back();
    record.design = design.design;
    record.points = storable(design.points);
    record.admissible = storable(design.admissible);
    record.counted = design.counted;
    record.unavailable = design.unavailable;
    for (const auto& [rule, points] : design.pruned) {
      record.pruned.push_back({rule, storable(points)});
    }
  }
  return records;
}

}  // namespace mgtune
