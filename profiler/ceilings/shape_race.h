// Finds the fastest of several launch shapes of a ceiling.

#pragma once

#include <span>

#include "ceilings/ceiling.h"
#include "core/status.h"
#include "timing/statistics.h"
#include "timing/timer.h"

namespace mgtune {

struct ShapeCost {
  double cost = 0;  // nanoseconds per launch, per byte or per operation
  ClockRecord clocks;
};

// The nanoseconds that one launch of the work needs per unit, if it does so many `units` (bytes or
// operations). Timing stops early if that is more than `best` (0: never).
inline Result<ShapeCost> measure_cost(Timer& timer, const TimedWork& work, TimingBudget budget,
                                      double units, double best) {
  budget.stop_above_ns = best * units;
  MGTUNE_ASSIGN(const Timing timing, timer.time(work, budget));
  return ShapeCost{summarise(timing.samples_ns).median / units, timing.clocks};
}

// Measures all shapes and returns the rate of the one with the lowest cost, the first if several
// are equal. bench.cost(shape, best) returns the nanoseconds that the shape needs per byte or
// operation. `best` is the lowest cost so far (0: none yet); bench may stop early if a shape is
// slower. bench.check(shape) says whether the fastest shape did its work.
template <class Bench, class Shape>
Result<CeilingRecord> fastest_shape(Bench& bench, std::span<const Shape> shapes) {
  const Shape* fastest = nullptr;
  ShapeCost best;
  for (const Shape& shape : shapes) {
    MGTUNE_ASSIGN(const ShapeCost cost, bench.cost(shape, best.cost));
    if (fastest != nullptr && cost.cost >= best.cost) continue;
    fastest = &shape;
    best = cost;
  }
  MGTUNE_TRY(bench.check(*fastest));
  CeilingRecord ceiling;
  ceiling.rate = 1e9 / best.cost;
  ceiling.clocks = best.clocks;
  return ceiling;
}

}  // namespace mgtune
