// Text for a terminal of a certain width. A line that is too long is broken at a blank, and
// continues on an indented line. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgtune {

// Lines of at most `width` columns, except for words that are longer. A continuation is indented by
// four more than its line.
std::string folded(std::string_view text, std::size_t width);

}  // namespace mgtune
