// NearRanges: which tuned problems are near the shapes that a plan serves. Pure.

#pragma once

#include <cstddef>
#include <vector>

#include "family/problem.h"
#include "launch/launch_dims.h"

namespace mgtune {

// The ranges that contain only the dims of this problem.
std::vector<DimRange> ranges_of(const Problem& problem);

class NearRanges {
 public:
  // `ranges` are those of the dynamic and hint dims, in their order. A dim with an empty range is
  // left out of the comparison.
  NearRanges(const Operator& op, const std::vector<DimRange>& ranges);

  // Whether some shape in the ranges is near this problem. Every dim without a default must be
  // near, by is_near_extent().
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
