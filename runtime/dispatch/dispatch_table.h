// DispatchTable: the order in which a plan tries its loaded variants for the dims of a launch.
// First come the variants of tuned problems that are near enough in every dim, the nearest first;
// then those that the rules rank for the dims; then the others (the ladder of defaults), in their
// order. Immutable; any number of threads may look up.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dispatch/plan_rules.h"
#include "family/problem.h"
#include "selection/variant_selection.h"

namespace mgtune {

inline constexpr std::size_t kMaxPlanVariants = 10;

// A tuned problem whose variant is loaded.
struct DispatchRow {
  std::size_t variant;
  double distance;  // what is added to the distance of the dims; 0 for the plan's own binding
  Slots slots;      // of the tuned problem
  std::string reason;
  double expected_ns = 0;  // for a launch with exactly these dims
};

class DispatchTable {
 public:
  using Distances = std::array<double, kMaxPlanVariants>;

  static constexpr std::size_t kMaxRows = 16;  // a look-up takes about 2 ns per row

  // At most kMaxPlanVariants variants. Only the first kMaxRows rows are used. `rules` may be null;
  // `ranked` has the loaded variants of each of its leaves, best first. `ladder_places` says of
  // each variant when it is tried if neither a row nor the rules choose it, the smallest first;
  // empty: in the order of their numbers.
  DispatchTable(const Operator& op, std::size_t variants, std::vector<DispatchRow> rows,
                std::unique_ptr<const PlanRules> rules = nullptr,
                std::vector<std::vector<std::size_t>> ranked = {},
                std::vector<std::size_t> ladder_places = {});

  // The distance of every variant from the launch with the dims in `slots`. Allocates nothing.
  void measure(std::span<const std::int64_t> slots, Distances& distances) const;

  // The variant with the smallest distance. Its distance becomes infinity, so as many calls as
  // there are variants give every variant once.
  std::size_t pop_nearest(Distances& distances) const;

  // The row that gives the variant its distance; null if no row of the variant is near enough.
  const DispatchRow* nearest_row(std::size_t variant, std::span<const std::int64_t> slots) const;

  // Whether the rules rank the variant for these dims.
  bool is_ranked(std::size_t variant, std::span<const std::int64_t> slots) const;

  const PlanRules* rules() const { return rules_.get(); }

 private:
  static constexpr std::size_t kMaxDims = 16;  // without those with a default

  using Logarithms = std::array<double, kMaxDims>;
  Logarithms logarithms_of(std::span<const std::int64_t> slots) const;
  double row_distance(std::size_t row, const Logarithms& at) const;  // infinity: not near enough

  std::size_t variants_;
  std::vector<DispatchRow> rows_;
  std::vector<std::size_t> slots_;  // of the dims that count
  std::unique_ptr<const PlanRules> rules_;
  std::vector<std::vector<std::size_t>> ranked_;
  Distances last_{};  // of each variant if nothing chooses it

  // Copies of the members of rows_ that a look-up reads, so that they are close together in memory.
  std::vector<double> logarithms_;  // of the dims at slots_, row by row
};

}  // namespace mgtune
