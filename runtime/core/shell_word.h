// Command lines that can be pasted into a shell. Pure.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// `word` as one word of a POSIX shell: as it is where nothing in it would be split or expanded,
// else in single quotes.
std::string shell_word(std::string_view word);

}  // namespace mgtune
