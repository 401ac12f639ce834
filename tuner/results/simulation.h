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

  // The number of evaluations in a space with this many variants. It is at most the number of
  // variants.
  std::size_t of(std::size_t variants) const;
  // The numbers of evaluations after which strategies are compared: those of 20, 50, 100 and 200
  // that are below of(variants), and of(variants) itself.
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
  std::string warm_from;             // of SimulatedSpace
  std::size_t variants = 0;          // of the space
  std::optional<std::size_t> asked;  // evaluations, if the space has fewer variants
  std::vector<Quality> found;
  std::vector<double> random;  // the same for random search, as an exact mean
  std::optional<double> target;
  std::vector<SeedRun> runs;  // by seed; the fractions belong to the budgets of `found`
};

// Replays the space with seeds 1 to `seeds`. Without a number of evaluations, the target is pursued
// until the whole space was visited. invalid_argument for an unknown strategy.
Result<Simulation> simulate(const SimulatedSpace& space, const SimulationRequest& request);

}  // namespace mgtune
