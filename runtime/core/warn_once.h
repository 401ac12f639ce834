// Warnings of a library: a line on standard error, the same thing once a process, nothing where
// MGTUNE_QUIET is set. Thread-safe.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// "mgtune: warning: TEXT", unless something was said of `subject` (a path, say) before.
void warn_once(const std::string& subject, std::string_view text);

}  // namespace mgtune
