// The ways in which a program can run, by their names. Thread-safe.

#pragma once

#include <array>
#include <string>
#include <string_view>

#include "program/machine.h"

namespace mgtune::engine {

// reference: on the host, in float with sums in double. steps: a launch per instruction. graph: a
// CUDA graph per step. auto: the fastest of them that this machine has.
inline constexpr std::array<std::string_view, 4> kWays = {"auto", "graph", "steps", "reference"};

// What "auto" means with a device as in mgr_open_options_t ("" and "auto" name none): steps if it
// is cpu, graph if another one is named or this machine has a GPU, otherwise reference. Another
// way is returned as it is. What select_devices() says of a device that is not there;
// invalid_argument for an unknown way, and if a device is named for the way reference, which uses
// none.
Result<std::string> resolve_way(std::string_view way, const std::string& device);

// For SessionOptions::machine, of a way that resolve_way() has returned. `device` and `database`
// are as in mgr_open_options_t ("" for null).
MachineFactory machine_of(std::string_view way, const std::string& device,
                          const std::string& database = "");

}  // namespace mgtune::engine
