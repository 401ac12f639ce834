// Replay: runs a search strategy many times, with different seeds, on a set whose times are known.
// It shows how near to the fastest variant the strategy comes after a number of evaluations. Pure
// functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "search/search.h"
#include "space/variant_set.h"

namespace mgtune {

// The quality of a search is the time of the fastest variant of the set divided by the time of the
// fastest variant that was found: 1 is perfect, 0 means that none was found. This has the quality
// after a number of evaluations, over all seeds.
struct Quality {
  std::size_t evaluations = 0;
  double mean = 0;
  double ci95 = 0;  // half the width of the mean's 95 % confidence interval
  double worst = 0;
};

// Where the search with one seed stopped.
struct Stop {
  std::size_t evaluations = 0;
  double fraction = 0;   // the quality, as above
  bool reached = false;  // whether the target was reached; false: no evaluation was left
};

// The time of a variant, in any unit; 0 if it fails. A variant that fails costs an evaluation too.
using TimeOf = std::function<double(const Variant&)>;

// Runs the seeds 1 to `seeds`. Returns one Quality for each of `budgets`, which are numbers of
// evaluations in ascending order. If the set has fewer variants than a budget, its quality is the
// one after all variants.
Result<std::vector<Quality>> replay(const VariantSet& set, const TimeOf& time_of,
                                    const std::string& strategy, std::uint64_t seeds,
                                    std::span<const std::size_t> budgets);

// Runs the seeds 1 to `seeds` until the target is reached, or until `max_evaluations`. Returns one
// Stop per seed.
Result<std::vector<Stop>> replay_to_target(const VariantSet& set, const TimeOf& time_of,
                                           const std::string& strategy, std::uint64_t seeds,
                                           double target, std::size_t max_evaluations);

// The exact mean of the quality if `evaluations` variants are drawn at random, each at most once.
// It is the sum over all variants of their quality times the probability that the variant is the
// fastest that was drawn. `times` are the values of TimeOf.
double random_expectation(std::vector<double> times, std::size_t evaluations);

}  // namespace mgtune
