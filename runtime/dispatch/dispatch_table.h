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
  double distance;  // added to the distance of the dims; 0 for the plan's own binding
  Slots slots;      // of the tuned problem
  std::string reason;
  double expected_ns = 0;  // for a launch with exactly these dims
};

class DispatchTable {
 public:
  using Distances = std::array<double, kMaxPlanVariants>;

  static constexpr std::size_t kMaxRows = 16;  // a look-up compares all of them

  // At most kMaxPlanVariants variants. Only the first kMaxRows rows are used. `rules` may be null;
  // `ranked` has the loaded variants of each of its leaves, best first. `ladder_places` has a
  // number for each variant. Variants that neither a row nor the rules choose are tried in
  // ascending order of these numbers; if `ladder_places` is empty, in the order of their indices.
  DispatchTable(const Operator& op, std::size_t variants, std::vector<DispatchRow> rows,
                std::unique_ptr<const PlanRules> rules = nullptr,
                std::vector<std::vector<std::size_t>> ranked = {},
                std::vector<std::size_t> ladder_places = {});

  // The variant to try first for a launch with the dims in `slots`. This is the look-up of nearly
  // every launch. Allocates nothing and takes no lock.
  std::size_t find(std::span<const std::int64_t> slots) const;

  // Computes a distance for every variant. If a variant refuses the launch, the one with the next
  // larger distance is tried. The distance of `first` is infinite. Allocates nothing.
  void measure_rest(std::span<const std::int64_t> slots, std::size_t first,
                    Distances& distances) const;

  // Returns the variant with the smallest distance, and makes this distance infinite. So, for n
  // variants, n - 1 calls after measure_rest() return every variant except `first` once.
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
  Distances last_{};  // of each variant if nothing chooses it
  std::size_t first_of_ladder_ = 0;
  std::vector<DimOfRows> dims_;             // the dims that count
  std::array<double, kMaxRows> farther_{};  // 2 to the power of each row's distance
};

}  // namespace mgtune
