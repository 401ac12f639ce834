// Files that a command writes where its user says. The function keeps no state.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace mgtune {

// Whole or not at all where it can be: a file that is there is replaced, a read-only one too, and
// its mode kept; a new one is for others to read, unlike the files that mgtune keeps. In place
// where the path is a device or a link. invalid_argument where `what` would replace a database; io.
Status write_output(const std::string& path, std::string_view what, std::string_view content);

}  // namespace mgtune
