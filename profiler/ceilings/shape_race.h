// Finds the fastest of several launch shapes of a ceiling.

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
  double cost = 0;  // lower is better
  ClockSummary clocks;
};

// The cost of one launch of the work, in nanoseconds. If it is above `best_ns`, it may come from
// few samples.
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

// Returns the first shape with the lowest cost. `cost_of(shape, best)` returns the cost of a shape.
// `best` is the lowest cost so far (0: none yet); a cost above it need not be precise.
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
