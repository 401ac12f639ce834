#include "dispatch/dispatch_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "expression/interval.h"

namespace mgtune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRanked = 1e6;   // above the ratio of every row
constexpr double kLadder = 1e12;  // above every rank
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

double extent_of(std::int64_t dim) { return static_cast<double>(std::max<std::int64_t>(dim, 1)); }

std::size_t place_of_smallest(std::span<const double> values) {
  return static_cast<std::size_t>(std::ranges::min_element(values) - values.begin());
}

}  // namespace

DispatchTable::DispatchTable(const Operator& op, std::size_t variants,
                             std::vector<DispatchRow> rows, std::unique_ptr<const PlanRules> rules,
                             std::vector<std::vector<std::size_t>> ranked,
                             std::vector<LadderPlace> ladder)
    : variants_(variants),
      rows_(std::move(rows)),
      rules_(std::move(rules)),
      ranked_(std::move(ranked)),
      ladder_(std::move(ladder)) {
  for (std::size_t place = ladder_.size(); place < variants; ++place) {
    ladder_.push_back({place, place});
  }
  for (std::size_t variant = 0; variant < variants; ++variant) {
    const LadderPlace& here = ladder_[variant];
    last_[variant] = kLadder + static_cast<double>(here.place);
    is_estimated_[variant] = std::ranges::count(ladder_, here.group, &LadderPlace::group) > 1;
    needs_estimates_ = needs_estimates_ || is_estimated_[variant];
  }
  const std::size_t first = place_of_smallest(std::span(last_).first(variants));
  if (!is_estimated_[first]) first_of_ladder_ = first;
  if (rows_.size() > kMaxRows) rows_.erase(rows_.begin() + kMaxRows, rows_.end());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    farther_[row] = std::exp2(rows_[row].distance);
  }
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed || dim.fallback || dims_.size() == kMaxDims) continue;
    dims_.push_back(dim_of_rows(dim, rows_));
  }
}

DispatchTable::DimOfRows DispatchTable::dim_of_rows(const Dim& dim,
                                                    std::span<const DispatchRow> rows) {
  DimOfRows of_rows{std::size_t(dim.slot), {}, {}, {}, {}};
  std::vector<Interval> near;  // of each row
  std::vector<std::int64_t> borders;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double extent = extent_of(rows[row].slots[of_rows.slot]);
    of_rows.extents[row] = extent;
    of_rows.inverses[row] = 1 / extent;
    const double low = std::ceil(extent / kNearFactor), high = std::floor(extent * kNearFactor);
    near.push_back(
        {low <= 1 ? 0 : static_cast<std::int64_t>(low),  // a dim of 0 counts as 1
         high < static_cast<double>(kLargest) ? static_cast<std::int64_t>(high) : kLargest - 1});
    borders.push_back(near[row].low);
    borders.push_back(near[row].high + 1);
  }
  std::ranges::sort(borders);
  of_rows.borders.fill(kLargest);
  std::ranges::copy(borders, of_rows.borders.begin());
  for (std::size_t place = 0; place < borders.size(); ++place) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (near[row].contains(borders[place])) of_rows.near[place + 1] |= 1U << row;
    }
  }
  return of_rows;
}

std::uint32_t DispatchTable::near_rows(std::span<const std::int64_t> slots) const {
  auto near = static_cast<std::uint32_t>((std::uint64_t{1} << rows_.size()) - 1);
  for (const DimOfRows& dim : dims_) {
    const std::int64_t here = std::min(slots[dim.slot], kLargest - 1);
    std::size_t borders = 0;  // that are not above `here`
    for (std::size_t step = 32; step > 0; step /= 2) {
      borders += dim.borders[borders + step - 1] <= here ? step : 0;
    }
    near &= dim.near[borders];
  }
  return near;
}

double DispatchTable::ratio(std::size_t row, std::span<const std::int64_t> slots) const {
  double ratio = farther_[row];
  for (const DimOfRows& dim : dims_) {
    const double here = extent_of(slots[dim.slot]);
    ratio *= std::max(here * dim.inverses[row], dim.extents[row] / here);
  }
  return ratio;
}

std::span<const std::size_t> DispatchTable::ranking_of(std::span<const std::int64_t> slots) const {
  if (rules_ == nullptr || ranked_.empty()) return {};
  return ranked_[rules_->find(slots)];
}

std::optional<std::size_t> DispatchTable::find(std::span<const std::int64_t> slots) const {
  const std::uint32_t near = near_rows(slots);
  if (near != 0) return rows_[nearest_of(near, slots)].variant;
  const std::span<const std::size_t> ranking = ranking_of(slots);
  if (!ranking.empty()) return ranking.front();
  return first_of_ladder_;
}

std::size_t DispatchTable::nearest_of(std::uint32_t rows,
                                      std::span<const std::int64_t> slots) const {
  auto nearest = static_cast<std::size_t>(std::countr_zero(rows));
  if (std::has_single_bit(rows)) return nearest;
  double smallest = kInfinity;
  for (; rows != 0; rows &= rows - 1) {
    const auto row = static_cast<std::size_t>(std::countr_zero(rows));
    const double distance = ratio(row, slots);
    if (distance >= smallest) continue;
    smallest = distance;
    nearest = row;
  }
  return nearest;
}

double DispatchTable::ladder_distance(std::size_t variant, const Estimates& estimates) const {
  const LadderPlace& here = ladder_[variant];
  std::size_t before = 0;  // variants of the group
  for (std::size_t other = 0; other < variants_; ++other) {
    if (ladder_[other].group != here.group) continue;
    const bool is_equal = estimates[other] == estimates[variant];
    before +=
        estimates[other] < estimates[variant] || (is_equal && ladder_[other].place < here.place);
  }
  return kLadder + static_cast<double>(here.group + before);
}

void DispatchTable::measure(std::span<const std::int64_t> slots, const Estimates& estimates,
                            Distances& distances) const {
  distances = last_;
  if (needs_estimates_) {
    for (std::size_t variant = 0; variant < variants_; ++variant) {
      if (is_estimated_[variant]) distances[variant] = ladder_distance(variant, estimates);
    }
  }
  double rank = kRanked;
  for (const std::size_t variant : ranking_of(slots)) distances[variant] = rank++;
  for (std::uint32_t near = near_rows(slots); near != 0; near &= near - 1) {
    const auto row = static_cast<std::size_t>(std::countr_zero(near));
    double& distance = distances[rows_[row].variant];
    distance = std::min(distance, ratio(row, slots));
  }
}

std::size_t DispatchTable::pop_nearest(Distances& distances) const {
  const std::size_t nearest = place_of_smallest(std::span(distances).first(variants_));
  distances[nearest] = kInfinity;
  return nearest;
}

const DispatchRow* DispatchTable::nearest_row(std::size_t variant,
                                              std::span<const std::int64_t> slots) const {
  std::uint32_t near = near_rows(slots);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].variant != variant) near &= ~(1U << row);
  }
  return near == 0 ? nullptr : &rows_[nearest_of(near, slots)];
}

bool DispatchTable::is_ranked(std::size_t variant, std::span<const std::int64_t> slots) const {
  const std::span<const std::size_t> ranking = ranking_of(slots);
  return std::ranges::find(ranking, variant) != ranking.end();
}

}  // namespace mgtune
