// DispatchTable: the order in which a plan tries its loaded variants for the dims of a launch. A
// row is a measured problem, or a point in the plan's ranges of dims, together with the variant
// that is fastest there. The variants are tried in the order of the distance from the launch to
// their nearest row. Variants without a row (the ladder of defaults) come last, in the order of the
// ladder. Immutable; any number of threads may look up.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "family/problem.h"
#include "selection/variant_selection.h"

namespace mgtune {

inline constexpr std::size_t kMaxPlanVariants = 8;

struct DispatchRow {
  std::size_t variant;
  double distance;     // what is added to the distance of the dims; 0 for the plan's own binding
  Slots slots;         // of the measured problem or of the point
  SelectionStep step;  // for a launch of the plan with exactly these dims
  std::string reason;
  double expected_ns = 0;  // for a launch with exactly these dims
  double slowdown = -1;    // see SelectedVariant::slowdown
};

class DispatchTable {
 public:
  using Distances = std::array<double, kMaxPlanVariants>;

  static constexpr std::size_t kMaxRows = 32;  // a look-up takes about 2 ns per row

  // At most kMaxPlanVariants variants. The rows nearest to the plan come first; only the first
  // kMaxRows are used.
  DispatchTable(const Operator& op, std::size_t variants, std::vector<DispatchRow> rows);

  // The distance of every variant from the launch with the dims in `slots`. Allocates nothing.
  void measure(std::span<const std::int64_t> slots, Distances& distances) const;

  // The variant with the smallest distance. Its distance becomes infinity, so as many calls as
  // there are variants give every variant once.
  std::size_t pop_nearest(Distances& distances) const;

  // The row that gives the variant its distance; null if the variant has no rows.
  const DispatchRow* nearest_row(std::size_t variant, std::span<const std::int64_t> slots) const;

  bool has_rows() const { return !rows_.empty(); }

 private:
  static constexpr std::size_t kMaxDims = 16;  // dims that differ between rows

  using Logarithms = std::array<double, kMaxDims>;
  Logarithms logarithms_of(std::span<const std::int64_t> slots) const;
  double row_distance(std::size_t row, const Logarithms& at) const;

  std::size_t variants_;
  std::vector<DispatchRow> rows_;                            // by variant
  std::array<std::size_t, kMaxPlanVariants + 1> first_row_;  // of each variant
  std::vector<std::size_t> slots_;                           // of the dims that differ between rows

  // Copies of the members of rows_ that a look-up reads, so that they are close together in memory.
  std::vector<double> distances_;
  std::vector<double> logarithms_;  // of the dims at slots_, row by row
};

}  // namespace mgtune
