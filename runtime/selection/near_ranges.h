// NearRanges: which tuned problems are near the shapes that a plan serves. Pure.

#pragma once

#include <cstddef>
#include <vector>

#include "family/problem.h"
#include "launch/launch_dims.h"

namespace mgtune {

// The ranges that have the dims of one problem alone.
std::vector<DimRange> ranges_of(const Problem& problem);

class NearRanges {
 public:
  // `ranges`: of the dynamic and hint dims, in their order; one that is empty leaves its dim open.
  NearRanges(const Operator& op, const std::vector<DimRange>& ranges);

  // Whether some shape in the ranges is near this problem: each dim without a default is, by
  // is_near_extent().
  bool contains(const Slots& problem) const;

  // The sum over the dims of the distances to the middles of the ranges, as log_extent() has them.
  double from_middle(const Slots& problem) const;

 private:
  struct Range {
    std::size_t slot;
    DimRange range;
    double middle;
    bool counts;  // it must be near: it has no default
  };
  std::vector<Range> ranges_;
};

}  // namespace mgtune
