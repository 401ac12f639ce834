// The default ladders of several problems of an operator as one list, for tests of all rungs that
// the problems can have. Pure.

#pragma once

#include <algorithm>
#include <vector>

#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// Each variant once, in the order of the first ladder that has it.
inline std::vector<Variant> ladders_of(const std::vector<Problem>& problems,
                                       const DeviceLimits& device) {
  std::vector<Variant> rungs;
  for (const Problem& problem : problems) {
    for (const Variant& rung : default_ladder(problem.binding(), device)) {
      if (std::ranges::find(rungs, rung) == rungs.end()) rungs.push_back(rung);
    }
  }
  return rungs;
}

}  // namespace mgtune
