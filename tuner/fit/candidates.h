// Candidates: the patterns that rules will probably name, and the problems at which they have no
// time yet. A sweep for rules measures them there, because a fit counts measured times alone. Plain
// data and a pure function.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "family/problem.h"
#include "family/variant_pattern.h"
#include "fit/loss_table.h"

namespace mgtune {

struct Candidates {
  // With the best of them at each problem, all problems together are likely to lose least.
  std::vector<VariantPattern> patterns;

  // By the text of a problem: places in `patterns` of those that are promising there, the fastest
  // first as far as one can tell.
  std::map<std::string, std::vector<std::size_t>> promising;

  // What to measure at this problem: those that are promising there, or all patterns if the problem
  // has no times yet.
  std::vector<const VariantPattern*> at(const Problem& problem) const;
};

// At most `count` patterns. At a problem, the promising ones are those without a time that can
// serve it, with the least estimated losses (fit/estimated_losses.h); at most `per_problem`.
Candidates choose_candidates(const FitData& data, std::size_t count, std::size_t per_problem);

}  // namespace mgtune
