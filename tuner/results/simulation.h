// Simulation: how near to the fastest variant of a known space a strategy comes after how many
// evaluations, and where it stops with a target. Pure functions of their arguments.

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

  // After how many evaluations strategies are compared; a share adds a budget of its own.
  std::vector<std::size_t> budgets(std::size_t variants) const;
};
Result<Evaluations> parse_evaluations(const std::string& text);  // "200", "25%", "" for the default

struct SimulationRequest {
  std::string strategy;
  std::uint64_t seeds = 100;
  Evaluations evaluations;
  std::optional<double> target;
};

// Where the seeds stopped with a target.
struct TargetOutcome {
  double target = 0;
  std::vector<Stop> stops;  // by seed
};

struct Simulation {
  std::string space;
  std::string strategy;
  std::uint64_t seeds = 0;
  std::size_t variants = 0;  // of the space
  std::vector<Quality> found;
  std::vector<double> random;  // expectation, for each of `found`
  std::optional<TargetOutcome> target;
};

// Replays the space with seeds 1 to `seeds`. invalid_argument for an unknown strategy.
Result<Simulation> simulate(const SimulatedSpace& space, const SimulationRequest& request);

}  // namespace mgtune
