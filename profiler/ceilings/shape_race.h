// A race of launch shapes: the ceilings' way to the fastest of several.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "clocks/clock_log.h"
#include "core/status.h"
#include "timing/statistics.h"
#include "timing/timer.h"

namespace mgtune {

struct ShapeCost {
  double cost = 0;  // the less the better
  ClockSummary clocks;
};

// What one launch of the work costs, in nanoseconds. Above `best_ns` it may be of few samples.
inline Result<ShapeCost> time_shape(Timer& timer, const TimedWork& work, double best_ns,
                                    std::size_t buffer_sets) {
  TimingBudget budget;
  budget.stop_above_ns = best_ns;
  budget.buffer_sets = static_cast<std::int64_t>(buffer_sets);
  MGTUNE_ASSIGN(const Timing timing, timer.time(work, budget));
  return ShapeCost{summarise(timing.samples_ns).median, timing.clocks};
}

template <class Shape>
struct ShapeRace {
  const Shape* winner = nullptr;
  ShapeCost cost;  // the winner's
};

// The first of those of least cost. `cost_of(shape, best)` says a shape's; above `best`, the least
// so far (0: none yet), it need not be precise.
template <class Shape, class CostOf>
Result<ShapeRace<Shape>> race_shapes(std::span<const Shape> shapes, const CostOf& cost_of) {
  ShapeRace<Shape> race;
  for (const Shape& shape : shapes) {
    MGTUNE_ASSIGN(const ShapeCost cost, cost_of(shape, race.cost.cost));
    if (race.winner != nullptr && cost.cost >= race.cost.cost) continue;
    race = {&shape, cost};
  }
  return race;
}

}  // namespace mgtune
