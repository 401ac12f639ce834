// Candidates: the patterns that rules will probably name, and at which problems their times are
// missing most. A sweep for rules measures them there. Which rules are good is then seen by times
// alone. Plain data and a pure function.

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

  // By the text of a problem: places in `patterns`, those that are likely to be fastest first.
  std::map<std::string, std::vector<std::size_t>> promising;

  // What to measure at this problem: those that are promising there, or all patterns if the problem
  // has no times yet.
  std::vector<const VariantPattern*> at(const Problem& problem) const;
};

// At most `count` patterns. A pattern is promising at a problem if it has no time there, and if its
// estimated loss (fit/estimated_losses.h) is less than that of a variant that is no candidate for
// rules. At most `per_problem` are.
Candidates choose_candidates(const FitData& data, std::size_t count, std::size_t per_problem);

}  // namespace mgtune
