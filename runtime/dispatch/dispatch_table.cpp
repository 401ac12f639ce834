#include "dispatch/dispatch_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mgtune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRanked = 1e6;   // above every distance of a row
constexpr double kLadder = 1e12;  // above every rank

}  // namespace

DispatchTable::DispatchTable(const Operator& op, std::size_t variants,
                             std::vector<DispatchRow> rows, std::unique_ptr<const PlanRules> rules,
                             std::vector<std::vector<std::size_t>> ranked,
                             std::vector<std::size_t> ladder_places)
    : variants_(variants),
      rows_(std::move(rows)),
      rules_(std::move(rules)),
      ranked_(std::move(ranked)) {
  for (std::size_t variant = 0; variant < variants; ++variant) {
    const std::size_t place = ladder_places.empty() ? variant : ladder_places[variant];
    last_[variant] = kLadder + static_cast<double>(place);
  }
  if (rows_.size() > kMaxRows) rows_.erase(rows_.begin() + kMaxRows, rows_.end());
  for (const Dim& dim : op.dims) {
    const bool counts = dim.kind != DimKind::fixed && !dim.fallback;
    if (counts && slots_.size() < kMaxDims) slots_.push_back(std::size_t(dim.slot));
  }
  for (const DispatchRow& row : rows_) {
    for (const std::size_t slot : slots_) logarithms_.push_back(log_extent(row.slots[slot]));
  }
}

DispatchTable::Logarithms DispatchTable::logarithms_of(std::span<const std::int64_t> slots) const {
  Logarithms logarithms;
  for (std::size_t i = 0; i < slots_.size(); ++i) logarithms[i] = log_extent(slots[slots_[i]]);
  return logarithms;
}

double DispatchTable::row_distance(std::size_t row, const Logarithms& at) const {
  static const double kBound = std::log2(kNearFactor) + 1e-9;
  double distance = rows_[row].distance;
  const double* logarithm = logarithms_.data() + row * slots_.size();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const double apart = std::abs(logarithm[i] - at[i]);
    if (apart > kBound) return kInfinity;
    distance += apart;
  }
  return distance;
}

void DispatchTable::measure(std::span<const std::int64_t> slots, Distances& distances) const {
  distances = last_;
  if (rules_ != nullptr && !ranked_.empty()) {
    double rank = kRanked;
    for (const std::size_t variant : ranked_[rules_->find(slots)]) distances[variant] = rank++;
  }
  if (rows_.empty()) return;
  const Logarithms at = logarithms_of(slots);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    double& distance = distances[rows_[row].variant];
    distance = std::min(distance, row_distance(row, at));
  }
}

std::size_t DispatchTable::pop_nearest(Distances& distances) const {
  const auto end = distances.begin() + static_cast<std::ptrdiff_t>(variants_);
  const auto nearest = std::min_element(distances.begin(), end);
  *nearest = kInfinity;
  return static_cast<std::size_t>(nearest - distances.begin());
}

const DispatchRow* DispatchTable::nearest_row(std::size_t variant,
                                              std::span<const std::int64_t> slots) const {
  const Logarithms at = logarithms_of(slots);
  const DispatchRow* nearest = nullptr;
  double smallest = kInfinity;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].variant != variant || row_distance(row, at) >= smallest) continue;
    smallest = row_distance(row, at);
    nearest = &rows_[row];
  }
  return nearest;
}

bool DispatchTable::is_ranked(std::size_t variant, std::span<const std::int64_t> slots) const {
  if (rules_ == nullptr || ranked_.empty()) return false;
  const std::vector<std::size_t>& ranked = ranked_[rules_->find(slots)];
  return std::ranges::find(ranked, variant) != ranked.end();
}

}  // namespace mgtune
