// The scripts that complete mgtune's words in a shell, made from the declarations of the commands.
// Pure functions.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/usage.h"

namespace mgtune {

struct CompletionShell {
  std::string_view name;  // "bash"
  std::string (*script)(const std::vector<CommandUsage>& commands);
};

std::span<const CompletionShell> completion_shells();

}  // namespace mgtune
