// Text for a terminal of a certain width: what a terminal would break in the middle of a word is
// broken at a blank, and goes on under its line, indented. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgtune {

// Lines of at most `width` columns, but for words that are longer. A continuation is indented by
// four more than its line.
std::string folded(std::string_view text, std::size_t width);

}  // namespace mgtune
