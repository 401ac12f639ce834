#include "dispatch/plan_points.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "selection/pick_key.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxPoints = 8;
constexpr std::size_t kSample = 32;

// A value in the range of a dim, which has this number among the dims with a range.
using ValueIn = std::function<std::int64_t(const DimRange& range, const Dim& dim, int number)>;

// The problem with a value of each range. Dims without a range have their defaults.
Result<Problem> problem_in(const Binding& binding, const std::vector<DimRange>& ranges,
                           const ValueIn& value_in) {
  std::map<std::string, std::int64_t> dims;
  std::size_t index = 0;
  for (const Dim& dim : binding.op->dims) {
    if (dim.kind == DimKind::fixed) continue;
    const DimRange& range = ranges[index++];
    const int number = static_cast<int>(dims.size());
    if (range.low <= range.high) dims[dim.name] = value_in(range, dim, number);
  }
  return complete(binding, dims);
}

void add_new(Problem problem, std::vector<Problem>& points) {
  const bool known = std::ranges::find(points, problem.slots, &Problem::slots) != points.end();
  if (!known) points.push_back(std::move(problem));
}

}  // namespace

Result<std::vector<Problem>> plan_points(const Binding& binding,
                                         const std::vector<DimRange>& ranges,
                                         const std::vector<const TunedEntry*>& tuned) {
  std::vector<Problem> points;
  Status first_failure;
  const auto add = [&](const ValueIn& value_in) {
    Result<Problem> point = problem_in(binding, ranges, value_in);
    if (point.ok()) {
      add_new(*std::move(point), points);
    } else if (first_failure.ok()) {
      first_failure = std::move(point).take_status();
    }
  };
  add([](const DimRange& range, const Dim&, int) { return range.high; });
  add([](const DimRange& range, const Dim&, int) { return range.low; });
  add([](const DimRange& range, const Dim&, int) { return middle_of(range); });
  for (const TunedEntry* entry : tuned) {
    if (points.size() == kMaxPoints) break;
    add([&](const DimRange& range, const Dim& dim, int) {
      return std::clamp(entry->problem.slots[std::size_t(dim.slot)], range.low, range.high);
    });
  }
  if (points.empty() && !first_failure.ok()) return first_failure;
  return points;
}

std::vector<Problem> sample_of_ranges(const Binding& binding, const std::vector<DimRange>& ranges) {
  std::vector<Problem> sample;
  const bool is_one_shape =
      std::ranges::all_of(ranges, [](const DimRange& range) { return range.low >= range.high; });
  if (is_one_shape) return sample;
  // Weyl's sequence: the multiples of irrational numbers, without their whole parts, are spread
  // evenly. A root of a prime for each dim makes them independent of one another.
  constexpr double kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19};
  for (std::size_t i = 1; i <= kSample; ++i) {
    Result<Problem> problem =
        problem_in(binding, ranges, [&](const DimRange& range, const Dim&, int number) {
          const double multiple =
              static_cast<double>(i) * std::sqrt(kPrimes[std::size_t(number) % 8]);
          const double share = multiple - std::floor(multiple);
          const auto low = static_cast<double>(range.low);
          const double times = (static_cast<double>(range.high) + 1) / (low + 1);
          const double value = (low + 1) * std::pow(times, share) - 1;
          return std::clamp(static_cast<std::int64_t>(std::min(value, 0x1p62)), range.low,
                            range.high);
        });
    if (problem.ok()) add_new(*std::move(problem), sample);
  }
  return sample;
}

}  // namespace mgtune
