// Man pages in the language of roff, made from the declarations of the commands. Pure functions.

#pragma once

#include <string>
#include <vector>

#include "cli/usage.h"

namespace mgtune {

std::string man_page_file(const CommandUsage& command);  // "mgtune-sweep.1", "mgtune.1"

// The page of one of `commands`. The page of the program itself names the pages of the others.
std::string man_page(const CommandUsage& command, const std::vector<CommandUsage>& commands);

}  // namespace mgtune
