// Files that are written to a path which the user chose. The function keeps no state.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace mgtune {

// Writes the file whole or not at all. It replaces a file that exists, even a read-only one, and
// keeps its mode. Others may read a new file, unlike the files that mgtune keeps for itself. A
// device or a link is written in place. invalid_argument, with `what` as the subject, if it would
// replace a database; io.
Status write_output(const std::string& path, std::string_view what, std::string_view content);

}  // namespace mgtune
