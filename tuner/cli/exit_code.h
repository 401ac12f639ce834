// The program's exit code, with the same meaning for every subcommand. The same mistake has the
// same code in all of them:
//
// - The kernel that --kernel names, its folder or its file is wrong or does not exist: usage.
// - A word that should select results selects none: usage.
// - Any other file or folder that a word names does not exist, is of the wrong kind, is damaged or
//   cannot be read or written: data.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace mgtune {

enum class ExitCode : std::uint8_t {
  ok = 0,
  gate_failed = 1,  // compare: something became slower; profile, run: the variant is wrong
  usage = 2,        // an argument is wrong: an option, a value, a kernel with its files
  partial = 3,      // some variants failed (and are recorded), or a problem has no variant here
  environment = 4,  // this machine lacks something: a GPU, a driver, a compiler
  data = 5,         // a file is missing, damaged, from a newer version, or cannot be written
  internal = 70,
  hung_up = 129,      // SIGHUP
  interrupted = 130,  // SIGINT
  terminated = 143,   // SIGTERM
};

ExitCode exit_code(StatusCode code);

std::string exit_code_list();  // for --help, one line per code

}  // namespace mgtune
