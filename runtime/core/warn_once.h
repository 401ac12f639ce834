// Warnings of the library: a line on standard error. The same warning is printed once per process,
// and nothing is printed if MGTUNE_QUIET is set. Thread-safe.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// Prints "mgtune: warning: TEXT", unless there was a warning about `subject` (for example a path)
// before.
void warn_once(const std::string& subject, std::string_view text);

}  // namespace mgtune
