// Command lines that can be pasted into a shell. Pure.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// Returns `word` as one word of a POSIX shell: unchanged if the shell would neither split nor
// expand it, otherwise in single quotes.
std::string shell_word(std::string_view word);

}  // namespace mgtune
