// The ways in which a program can run, by their names. Pure functions.

#pragma once

#include <array>
#include <string>
#include <string_view>

#include "program/machine.h"

namespace mgtune::engine {

// reference: on the host, in float with sums in double. steps: a launch per instruction. graph: a
// CUDA graph per step.
inline constexpr std::array<std::string_view, 3> kWays = {"reference", "steps", "graph"};

// For SessionOptions::machine. `device` and `database` are as in mgr_open_options_t ("" for null);
// the way reference does not use them. invalid_argument for another word.
Result<MachineFactory> machine_of(std::string_view way, const std::string& device,
                                  const std::string& database = "");

}  // namespace mgtune::engine
