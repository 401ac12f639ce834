// Replay: a strategy on a set whose times are known, many times over, and how near the fastest it
// came after how many evaluations. Pure functions of their arguments.

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

// Time of the fastest over that of the fastest found, over the seeds; 0 while nothing was found.
struct Quality {
  std::size_t evaluations = 0;
  double mean = 0;
  double ci95 = 0;  // half the width of the mean's 95 % confidence interval
  double worst = 0;
};

// Where one seed came to a target.
struct Stop {
  std::size_t evaluations = 0;
  double fraction = 0;   // of the optimum, as in Quality
  bool reached = false;  // false: the evaluations or the set ended first
};

// A variant's time, in any unit; 0 for one that fails, which costs an evaluation all the same.
using TimeOf = std::function<double(const Variant&)>;

// Seeds 1 to `seeds`; `budgets` ascend, and each gets a Quality. A set that is used up earlier
// leaves what was found by then.
Result<std::vector<Quality>> replay(const VariantSet& set, const TimeOf& time_of,
                                    const std::string& strategy, std::uint64_t seeds,
                                    std::span<const std::size_t> budgets);

// One for each of the seeds 1 to `seeds`, with at most so many evaluations.
Result<std::vector<Stop>> replay_to_target(const VariantSet& set, const TimeOf& time_of,
                                           const std::string& strategy, std::uint64_t seeds,
                                           double target, std::size_t max_evaluations);

// The same mean for drawing without replacement, exactly: the sum over the times of each one's
// quality by the probability that it is the fastest drawn. `times` as TimeOf gives them.
double random_expectation(std::vector<double> times, std::size_t evaluations);

}  // namespace mgtune
