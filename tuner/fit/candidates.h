// Candidates: the patterns that rules will probably name, and the problems at which these patterns
// have no time yet. A sweep for rules measures the patterns at these problems, because a measured
// loss is better than an estimate. Plain data and a pure function.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "family/problem.h"
#include "family/variant_pattern.h"
#include "fit/fit_data.h"

namespace mgtune {

struct Candidates {
  // If every problem could use the best of these patterns, the total loss over all problems would
  // probably be the smallest.
  std::vector<VariantPattern> patterns;

  // For each problem (by its text), the indices in `patterns` of the patterns that are promising
  // there, the most promising first.
  std::map<std::string, std::vector<std::size_t>> promising;

  // What to measure at this problem: the promising patterns, or all patterns if the problem has no
  // times yet.
  std::vector<const VariantPattern*> at(const Problem& problem) const;
};

// Chooses at most `count` patterns by the measured losses and, where there is none, by estimates
// (fit/loss_estimates.h). Promising at a problem are those that can serve it and have no time
// there, with the smallest estimates first; at most `per_problem`.
Candidates choose_candidates(const FitData& data, std::size_t count, std::size_t per_problem);

}  // namespace mgtune
