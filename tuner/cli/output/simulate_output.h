// What `mgtune simulate` prints of one space: how near to the fastest a strategy came after how
// many evaluations, and where it stopped by a target. README.md specifies the JSON. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/replay.h"

namespace mgtune {

// Where the seeds stopped.
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

std::string simulation_table(const Simulation& simulation);

// Of one space from a file; of those of a database.
std::string simulation_json(const Simulation& simulation);
std::string simulations_json(const std::vector<Simulation>& simulations);

}  // namespace mgtune
