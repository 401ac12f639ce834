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

// Replaces "auto" by a way: by steps if the device is cpu, by graph if another device is named or
// this machine has a GPU, otherwise by reference. Every other way is returned as it is. `device` is
// as in mgr_open_options_t; "" and "auto" name none. For a device that does not exist it fails as
// select_devices() does. invalid_argument for an unknown way, and if a device is named for the way
// reference, which uses none.
Result<std::string> resolve_way(std::string_view way, const std::string& device);

// Makes the value of SessionOptions::machine for a way that resolve_way() has returned. `device`
// and `database` are as in mgr_open_options_t ("" for null).
MachineFactory machine_of(std::string_view way, const std::string& device,
                          const std::string& database = "");

}  // namespace mgtune::engine
