// The program's exit code, with the same meaning for every subcommand.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace mgtune {

enum class ExitCode : std::uint8_t {
  ok = 0,
  gate_failed = 1,  // compare: something became slower; profile, run: the variant is wrong
  usage = 2,        // an argument is wrong: an option, a kernel, an operator file
  partial = 3,      // some variants failed (and are recorded), or a problem has no variant here
  environment = 4,  // this machine lacks something: a GPU, a driver, a compiler
  data = 5,         // a file is damaged, from a newer version, or cannot be read or written
  internal = 70,
  hung_up = 129,      // SIGHUP
  interrupted = 130,  // SIGINT
  terminated = 143,   // SIGTERM
};

ExitCode exit_code(StatusCode code);

std::string exit_code_list();  // for --help, one line per code

}  // namespace mgtune
