#include "dispatch/dispatch_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgtune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLadder = 1e12;  // above every distance of a row

}  // namespace

DispatchTable::DispatchTable(const Operator& op, std::size_t variants,
                             std::vector<DispatchRow> rows)
    : variants_(variants), rows_(std::move(rows)) {
  if (rows_.size() > kMaxRows) rows_.erase(rows_.begin() + kMaxRows, rows_.end());
  std::ranges::stable_sort(rows_, {}, &DispatchRow::variant);
  for (std::size_t variant = 0; variant < first_row_.size(); ++variant) {
    first_row_[variant] = static_cast<std::size_t>(
        std::ranges::lower_bound(rows_, variant, {}, &DispatchRow::variant) - rows_.begin());
  }
  // A dim in which all rows agree adds the same to every distance: leave it out.
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed || slots_.size() == kMaxDims) continue;
    const auto slot = std::size_t(dim.slot);
    const bool differs = std::any_of(rows_.begin(), rows_.end(), [&](const DispatchRow& row) {
      return row.slots[slot] != rows_.front().slots[slot];
    });
    if (differs) slots_.push_back(slot);
  }
  for (const DispatchRow& row : rows_) {
    distances_.push_back(row.distance);
    for (const std::size_t slot : slots_) {
      logarithms_.push_back(log_extent(row.slots[slot]));
    }
  }
}

DispatchTable::Logarithms DispatchTable::logarithms_of(std::span<const std::int64_t> slots) const {
  Logarithms logarithms;
  for (std::size_t i = 0; i < slots_.size(); ++i) logarithms[i] = log_extent(slots[slots_[i]]);
  return logarithms;
}

double DispatchTable::row_distance(std::size_t row, const Logarithms& at) const {
  double distance = distances_[row];
  const double* logarithm = logarithms_.data() + row * slots_.size();
  for (std::size_t i = 0; i < slots_.size(); ++i) distance += std::abs(logarithm[i] - at[i]);
  return distance;
}

void DispatchTable::measure(std::span<const std::int64_t> slots, Distances& distances) const {
  const Logarithms at = logarithms_of(slots);
  for (std::size_t variant = 0; variant < variants_; ++variant) {
    double best = kLadder + static_cast<double>(variant);
    for (std::size_t row = first_row_[variant]; row < first_row_[variant + 1]; ++row) {
      best = std::min(best, row_distance(row, at));
    }
    distances[variant] = best;
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
  for (std::size_t row = first_row_[variant]; row < first_row_[variant + 1]; ++row) {
    if (row_distance(row, at) >= smallest) continue;
    smallest = row_distance(row, at);
    nearest = &rows_[row];
  }
  return nearest;
}

}  // namespace mgtune
