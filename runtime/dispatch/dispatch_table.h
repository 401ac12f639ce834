// DispatchTable: the order in which a plan tries its loaded variants for the dims of a launch.
// First come the variants of tuned problems that are near enough in every dim, the nearest first;
// then those that the rules rank for the dims; then the others (the ladder of defaults), in their
// order. Immutable; any number of threads may look up.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
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
  double distance;  // added to the distance of the dims; 0 for the plan's own binding
  Slots slots;      // of the tuned problem
  std::string reason;
  double expected_ns = 0;  // for a launch with exactly these dims
};

// Where a variant stands in the default ladder.
struct LadderPlace {
  std::size_t place;
  std::size_t group;  // the place of the first variant of its group (ladder_groups())
};

class DispatchTable {
 public:
  using Distances = std::array<double, kMaxPlanVariants>;
  using Estimates = std::array<std::int64_t, kMaxPlanVariants>;

  static constexpr std::size_t kMaxRows = 16;  // a look-up compares all of them

  // At most kMaxPlanVariants variants. Only the first kMaxRows rows are used. `rules` may be null;
  // `ranked` has the loaded variants of each of its leaves, best first. Variants that neither a row
  // nor the rules choose are tried in ascending order of their places in the ladder, but those of
  // one group in ascending order of the estimates that the caller passes.
  DispatchTable(const Operator& op, std::size_t variants, std::vector<DispatchRow> rows,
                std::unique_ptr<const PlanRules> rules = nullptr,
                std::vector<std::vector<std::size_t>> ranked = {},
                std::vector<LadderPlace> ladder = {});

  // The variant to try first for a launch with the dims in `slots`. This is the look-up of nearly
  // every launch. nullopt: only estimates say which variant of the ladder is the first. Allocates
  // nothing and takes no lock.
  std::optional<std::size_t> find(std::span<const std::int64_t> slots) const;

  // Whether some variants of the ladder are ordered by estimates, and which of them.
  bool needs_estimates() const { return needs_estimates_; }
  bool needs_estimate(std::size_t variant) const { return is_estimated_[variant]; }

  // Computes a distance for every variant. If a variant refuses the launch, the one with the next
  // larger distance is tried. `estimates` has a number for each variant; it is read if
  // needs_estimates(). Allocates nothing.
  void measure(std::span<const std::int64_t> slots, const Estimates& estimates,
               Distances& distances) const;

  // Returns the variant with the smallest distance, and makes this distance infinite. So, for n
  // variants, n calls after measure() return every variant once.
  std::size_t pop_nearest(Distances& distances) const;

  // The row that gives the variant its distance; null if no row of the variant is near enough.
  const DispatchRow* nearest_row(std::size_t variant, std::span<const std::int64_t> slots) const;

  // Whether the rules rank the variant for these dims.
  bool is_ranked(std::size_t variant, std::span<const std::int64_t> slots) const;

  const PlanRules* rules() const { return rules_.get(); }

 private:
  static constexpr std::size_t kMaxDims = 16;  // without those with a default

  // One bit for each row. It is set if the row is near enough in every dim.
  std::uint32_t near_rows(std::span<const std::int64_t> slots) const;
  // How far a row is from these dims: for each dim, the larger extent divided by the smaller one,
  // all multiplied, and multiplied by farther_. Rows have the same order by this product as by
  // distance, which is a sum of logarithms, and the product needs no logarithm.
  double ratio(std::size_t row, std::span<const std::int64_t> slots) const;
  // The row with the smallest ratio. `rows` has at least one bit set.
  std::size_t nearest_of(std::uint32_t rows, std::span<const std::int64_t> slots) const;
  // The distance of a variant that neither a row nor the rules choose, and that is_estimated_.
  double ladder_distance(std::size_t variant, const Estimates& estimates) const;
  std::span<const std::size_t> ranking_of(std::span<const std::int64_t> slots) const;

  // What a look-up reads of one dim of all rows. Each row is near enough between two borders.
  struct DimOfRows {
    std::size_t slot;
    // The borders of all rows, sorted, and then the largest integer in all other places. With 63
    // places a search takes six steps without a branch. Branches would be slow, because which rows
    // are near changes from launch to launch.
    std::array<std::int64_t, 63> borders;
    std::array<std::uint32_t, 64> near;  // [n]: the rows that are near past the first n borders
    std::array<double, kMaxRows> extents, inverses;
  };
  static_assert(2 * kMaxRows < 63);
  static DimOfRows dim_of_rows(const Dim& dim, std::span<const DispatchRow> rows);

  std::size_t variants_;
  std::vector<DispatchRow> rows_;
  std::unique_ptr<const PlanRules> rules_;
  std::vector<std::vector<std::size_t>> ranked_;
  std::vector<LadderPlace> ladder_;  // of each variant
  bool needs_estimates_ = false;
  std::array<bool, kMaxPlanVariants> is_estimated_{};  // shares its group with another variant
  Distances last_{};  // of each variant if nothing chooses it, without estimates
  std::optional<std::size_t> first_of_ladder_;  // nullopt: its group has others
  std::vector<DimOfRows> dims_;                 // the dims that count
  std::array<double, kMaxRows> farther_{};      // 2 to the power of each row's distance
};

}  // namespace mgtune
