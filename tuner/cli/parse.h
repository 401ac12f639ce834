// From argv to the subcommand that is meant, with its arguments in place. Called once, before any
// other thread runs; `commands` outlives what it returns.

#pragma once

#include "cli/command.h"
#include "core/status.h"

namespace mgtune {

// Null when the words ask for --help or --version, or there are none: then that has been printed.
// invalid_argument, with "did you mean" where a word looks misspelt, when they make no sense: an
// option whose value is empty among them.
Result<Command*> parse(int argc, const char* const* argv, const Commands& commands);

}  // namespace mgtune
