// Replay: runs a search strategy many times, with different seeds, on a set whose times are known.
// It shows how close to the fastest variant the strategy comes after a number of evaluations, and
// when the strategy says that a further gain is unlikely. Pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "search/search.h"
#include "space/variant_set.h"

namespace mgtune {

// The time of a variant, in any unit; 0 if it fails. A variant that fails costs an evaluation too.
using TimeOf = std::function<double(const Variant&)>;

struct ReplayRequest {
  std::string strategy;
  std::uint64_t seeds = 1;                // the seeds 1 to `seeds`
  std::vector<std::size_t> budgets = {};  // numbers of evaluations, ascending
  std::optional<double> target = {};
  std::size_t target_limit = 0;  // a seed that has not reached the target by then stops there
  WarmStart warm_start = {};
  std::vector<Variant> ranked = {};  // the variants that rules name; see make_search()
};

// Where the search with one seed stopped.
struct Stop {
  std::size_t evaluations = 0;
  double fraction = 0;   // the quality, as below
  bool reached = false;  // whether the target was reached; false: no evaluation was left
};

// The quality of a search is the time of the fastest variant of the set, divided by the time of the
// fastest variant that the search found: 1 is perfect, 0 means that it found none.
struct SeedRun {
  std::vector<double> fractions;  // the quality after each budget, or after all variants
  std::optional<Stop> stop;       // with a target
};

// One SeedRun per seed. invalid_argument for an unknown strategy.
Result<std::vector<SeedRun>> replay(const VariantSet& set, const TimeOf& time_of,
                                    const ReplayRequest& request);

// The quality after a number of evaluations, over all seeds.
struct Quality {
  std::size_t evaluations = 0;
  double mean = 0;
  double ci95 = 0;  // half the width of the mean's 95 % confidence interval
  double worst = 0;
};

// One Quality for each budget of the request that gave `runs`. There must be at least one run.
std::vector<Quality> qualities(std::span<const std::size_t> budgets, std::span<const SeedRun> runs);

// The exact mean of the quality if `evaluations` variants are drawn at random, each at most once.
// It is a sum over all variants: the variant's quality times the probability that it is the fastest
// one that was drawn. `times` are the values of TimeOf.
double random_expectation(std::vector<double> times, std::size_t evaluations);

}  // namespace mgtune
