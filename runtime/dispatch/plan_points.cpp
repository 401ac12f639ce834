#include "dispatch/plan_points.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace mgtune {
namespace {

// `part` of the way from the low to the high end, in the logarithm.
std::int64_t between(const DimRange& range, double part) {
  const auto log_of = [](std::int64_t end) {
    return std::log(static_cast<double>(std::max<std::int64_t>(end, 1)));
  };
  const double at = log_of(range.low) + part * (log_of(range.high) - log_of(range.low));
  return std::clamp(static_cast<std::int64_t>(std::exp(at) + 1e-6), range.low, range.high);
}

class PointList {
 public:
  PointList(const Binding& binding, const std::vector<DimRange>& ranges, std::size_t most)
      : binding_(binding), ranges_(ranges), most_(most) {}

  template <typename ValueOfRange>
  void add(const ValueOfRange& value) {
    std::map<std::string, std::int64_t> dims;
    std::size_t index = 0;
    for (const Dim& dim : binding_.op->dims) {
      if (dim.kind == DimKind::fixed) continue;
      const DimRange& range = ranges_[index++];
      if (range.low <= range.high) dims[dim.name] = value(range, std::size_t(dim.slot));
    }
    Result<Problem> point = complete(binding_, dims);
    if (!point.ok()) {
      if (first_failure_.ok()) first_failure_ = std::move(point).take_status();
      return;
    }
    const bool known = std::any_of(points_.begin(), points_.end(), [&](const Problem& other) {
      return other.slots == point->slots;
    });
    if (!known && points_.size() < most_) points_.push_back(*std::move(point));
  }

  Result<std::vector<Problem>> take() {
    if (points_.empty() && !first_failure_.ok()) return first_failure_;
    return std::move(points_);
  }

 private:
  const Binding& binding_;
  const std::vector<DimRange>& ranges_;
  std::size_t most_;
  std::vector<Problem> points_;
  Status first_failure_;
};

}  // namespace

Result<std::vector<Problem>> plan_points(const Binding& binding,
                                         const std::vector<DimRange>& ranges,
                                         const std::vector<const Problem*>& measured,
                                         std::size_t steps, std::size_t most) {
  PointList points(binding, ranges, most);
  points.add([](const DimRange& range, std::size_t) { return range.high; });
  points.add([](const DimRange& range, std::size_t) { return range.low; });
  points.add([](const DimRange& range, std::size_t) { return between(range, 0.5); });
  for (const Problem* problem : measured) {
    points.add([&](const DimRange& range, std::size_t slot) {
      return std::clamp(problem->slots[slot], range.low, range.high);
    });
  }
  for (std::size_t step = 1; step < steps; ++step) {
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    points.add([&](const DimRange& range, std::size_t) { return between(range, part); });
  }
  return points.take();
}

}  // namespace mgtune
