// What `mgtune simulate` prints. README.md specifies the JSON. Pure functions.

#pragma once

#include <string>
#include <vector>

#include "results/simulation.h"

namespace mgtune {

std::string simulation_table(const Simulation& simulation);

std::string simulation_json(const Simulation& simulation);                 // of a file
std::string simulations_json(const std::vector<Simulation>& simulations);  // of a database

}  // namespace mgtune
