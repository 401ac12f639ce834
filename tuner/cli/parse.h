// Finds the subcommand that argv names, and fills in its arguments. Called once, before any other
// thread runs. `commands` outlives the result.

#pragma once

#include "cli/command.h"
#include "core/status.h"

namespace mgtune {

// Null if argv asks for --help or --version, or is empty: then the text has been printed.
// invalid_argument for wrong words, with "did you mean" for one that looks misspelt. An option with
// an empty value is wrong too.
Result<Command*> parse(int argc, const char* const* argv, const Commands& commands);

}  // namespace mgtune
