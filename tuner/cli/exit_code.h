// What the program's exit code says, the same for every subcommand.

#pragma once

#include <cstdint>

#include "core/status.h"

namespace mgtune {

enum class ExitCode : std::uint8_t {
  ok = 0,
  gate_failed = 1,  // compare: something became slower; profile: the variant is wrong
  usage = 2,        // the words given are wrong: an option, a kernel, an operator file
  partial = 3,      // some variants failed, all recorded, or the device runs none of some problem
  environment = 4,  // this machine lacks it: a GPU, a driver, a compiler
  data = 5,         // a file is damaged, from a newer version, or cannot be read or written
  internal = 70,
  hung_up = 129,      // SIGHUP
  interrupted = 130,  // SIGINT
  terminated = 143,   // SIGTERM
};

ExitCode exit_code(StatusCode code);

}  // namespace mgtune
