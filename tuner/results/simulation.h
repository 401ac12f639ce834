// Simulation: runs a search strategy on a space whose times are known. It shows how close the
// strategy comes to the fastest variant after a number of evaluations, and where it stops with a
// target. Pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "results/simulated_space.h"
#include "search/replay.h"

namespace mgtune {

// How many evaluations a simulation has: a number, or a share of each space.
struct Evaluations {
  std::optional<std::size_t> number;
  double share = 0;  // if above 0, it replaces `number`

  // The numbers of evaluations after which strategies are compared. If `share` is set, the number
  // of evaluations that it gives for a space of this many variants is added.
  std::vector<std::size_t> budgets(std::size_t variants) const;
};
Result<Evaluations> parse_evaluations(const std::string& text);  // "200", "25%", "" for the default

struct SimulationRequest {
  std::string strategy;
  std::uint64_t seeds = 100;
  Evaluations evaluations;
  std::optional<double> target;
};

struct Simulation {
  std::string space;
  std::string strategy;
  std::uint64_t seeds = 0;
  std::size_t variants = 0;  // of the space
  std::vector<Quality> found;
  std::vector<double> random;  // the same for random search, as an exact mean
  std::optional<double> target;
  std::vector<Stop> stops;  // where the search stopped with the target, by seed
};

// Replays the space with seeds 1 to `seeds`. invalid_argument for an unknown strategy.
Result<Simulation> simulate(const SimulatedSpace& space, const SimulationRequest& request);

}  // namespace mgtune
