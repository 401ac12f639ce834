// Space: the variants of an operator that are admissible on a device for a binding or a problem.
//
// Its points are the cartesian product of each design's parameters. The designs follow one another
// in the file's order, and the last parameter changes fastest. Every point has an index in [0,
// size()), and every function here visits points in the order of the indices. A constraint is
// tested as soon as the parameters that it reads, directly or through lets, are bound, so most of a
// product is never visited. If the space is made from a Problem, constraints that name dynamic dims
// are tested too, and a variant whose estimate (Design::estimate) is more than 1.25 times the least
// one of the ladder is left out. Rungs that the narrowing leaves out, and those that may refuse
// when their build is loaded, do not count. Constraints that read build.* are tested only then.
//
// The operator must outlive the space. Immutable: const methods may run concurrently.

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "family/problem.h"
#include "family/variant.h"
#include "space/narrowing.h"
#include "space/variant_set.h"

namespace mgtune {

struct DesignStatistics {
  std::string design;
  std::uint64_t points = 0;
  std::uint64_t admissible = 0;

  // The points that each requirement, constraint or failing let excludes. The first one that fails
  // counts.
  std::map<std::string, std::uint64_t> pruned;

  // "requires device.cc == 90" if requirements exclude every point, otherwise "".
  std::string unavailable;

  // False if the walk stopped at its limit. `admissible` and `pruned` then have only the points
  // that were visited until then.
  bool counted = true;
};

// The number of admissible variants of all designs together. If is_counted() is false, there may be
// more.
std::uint64_t admissible_variants(const std::vector<DesignStatistics>& designs);
bool is_counted(const std::vector<DesignStatistics>& designs);

// The limit for statistics() if a user waits for the result. So many nodes take at most a third of
// a second.
inline constexpr std::uint64_t kCountedNodes = 1U << 22U;

class Space final : public VariantSet {
 public:
  enum class Bound : std::uint8_t { counts, ignored };  // of estimates

  Space(const Binding& binding, const DeviceLimits& device);
  // Only the variants that the narrowing leaves; null: all.
  Space(const Problem& problem, const DeviceLimits& device,
        std::shared_ptr<const Narrowing> narrowing = nullptr, Bound bound = Bound::counts);

  const Operator& op() const { return *op_; }

  std::size_t design_count() const override { return designs_.size(); }
  std::vector<ParameterAxis> axes(std::size_t design) const override;
  std::uint64_t first_point(std::size_t design) const override;
  Variant point(std::uint64_t index) const override;
  std::uint64_t index(const Variant& variant) const override;
  bool admits(const Variant& variant) const override;
  // The same, but an estimate above the bound does not count.
  bool serves(const Variant& variant) const;
  std::optional<std::uint64_t> next_admissible(std::uint64_t index,
                                               WalkLimit& limit) const override;
  bool for_each_of(std::size_t design, const Visit& visit, WalkLimit& limit) const override;
  // Starts at a random value of each parameter, so that it finds the first variant without walking
  // through the list.
  bool wander_through(std::size_t design, RandomStream& random, const Visit& visit,
                      WalkLimit& limit) const override;
  std::vector<Variant> ladder() const override;  // in the order in which a program tries it

  // One entry per design. Enumerates until `max_nodes` points and prefixes of points were visited.
  // If a design does not need all of its equal share, the rest goes to the designs after it.
  std::vector<DesignStatistics> statistics(
      std::uint64_t max_nodes = std::numeric_limits<std::uint64_t>::max()) const;

 private:
  // An expression to evaluate as soon as a parameter has its value. Steps are evaluated in order.
  // The first one that fails excludes the point, which is counted under the step's text.
  struct Step {
    const Expression* expression;
    int let_slot = -1;  // where the value goes; -1: a condition, which must be true
    bool requirement = false;
    std::string text;
    bool is_estimate = false;
    std::int64_t most = 0;  // of an estimate: a higher one excludes the point
  };
  struct Level {
    std::vector<Step> steps;
    std::uint64_t points_below = 1;  // the product of the parameters that are still free
  };
  struct DesignSpace {
    const Design* design;
    std::vector<Level> levels;  // first what needs no parameter, then one per parameter
    Slots slots;                // of binding or problem and device; params are 0
  };
  struct Walk;

  Space(const Operator& op, const Slots& slots, const DeviceLimits& device, Stage known,
        std::shared_ptr<const Narrowing> narrowing);
  static DesignSpace arrange(const Design& design, const Slots& slots, Stage known,
                             const std::vector<Narrowing::Condition>& conditions);
  // Leaves out variants whose estimate is much higher than `best`.
  void bound_estimates(std::int64_t best);
  static const Step* first_failure(const Level& level, Slots& slots, Bound bound = Bound::counts);
  bool fulfils(const Variant& variant, Bound bound) const;
  static bool descend(const DesignSpace& space, Walk& walk, std::size_t level);
  DesignStatistics statistics_of(std::size_t design, std::uint64_t& nodes_left) const;

  const Operator* op_;
  std::shared_ptr<const Narrowing> narrowing_;  // steps refer to its expressions
  std::vector<DesignSpace> designs_;
  std::vector<Variant> defaults_;  // for this binding and device, admissible or not
};

}  // namespace mgtune
