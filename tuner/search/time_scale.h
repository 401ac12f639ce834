// TimeScale: how the adaptive strategy turns the times that were measured into the targets of its
// model. Plain data; pure functions.

#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "search/encoding.h"
#include "search/posterior.h"

namespace mgtune {

// A variant that was suggested or reported, and its result.
struct Observation {
  enum class State : std::uint8_t { pending, ok, at_least, failed };
  std::uint64_t index = 0;  // in the set
  EncodedPoint point;
  State state = State::pending;
  double log_time = 0;
};

struct TimeScale {
  double best = std::numeric_limits<double>::infinity();  // logarithms of times, as all of these
  double cap = 0, mean = 0, deviation = 1;

  // How slow a slow variant is does not help to find fast ones, and factors of thirty would hide
  // differences of 5 %. So every time that is farther above the median than the best is below it
  // counts as equally slow, and so does a failure. At least one observation is ok.
  explicit TimeScale(const std::vector<Observation>& observations);

  double normalized(double log_time) const;
  Target target(const Observation& observation) const;
};

}  // namespace mgtune
