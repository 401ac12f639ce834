#include "sweep/planned_problem.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace mgtune {
namespace {

std::int64_t storable(std::uint64_t count) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(count, kMax));
}

}  // namespace

PlannedProblem plan_problem(Problem problem, const DeviceInfo& device, std::uint64_t max_nodes,
                            const std::shared_ptr<const Narrowing>& narrowing) {
  Space space(problem, device.limits, narrowing);
  std::optional<Space> whole;
  if (narrowing != nullptr) whole.emplace(problem, device.limits);
  std::vector<DesignStatistics> designs = space.statistics(max_nodes);
  const std::uint64_t admissible = admissible_variants(designs);
  const bool counted = is_counted(designs);
  return {std::move(problem), std::move(space), std::move(whole),
          std::move(designs), admissible,       counted};
}

void count_further(PlannedProblem& planned, std::uint64_t max_nodes) {
  planned.designs = planned.space.statistics(max_nodes);
  planned.admissible = admissible_variants(planned.designs);
  planned.counted = is_counted(planned.designs);
}

std::vector<SpaceRecord> space_records(const PlannedProblem& planned) {
  std::vector<SpaceRecord> records;
  for (const DesignStatistics& design :
       planned.whole.has_value() ? planned.whole->statistics(kCountedNodes)
       : planned.counted         ? planned.designs
                                 : planned.space.statistics(kCountedNodes)) {
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
