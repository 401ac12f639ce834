// A race of launch shapes: the ceilings' way to the fastest of several.

#pragma once

#include <span>

#include "clocks/clock_log.h"
#include "core/status.h"

namespace mgtune {

struct ShapeCost {
  double cost = 0;  // the less the better
  ClockSummary clocks;
};

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
