// Text for a terminal: makes text from outside (names, compiler messages, command lines) safe to
// print, and breaks lines that are too long. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgtune {

// Returns valid UTF-8 that has no effect on a terminal except its own characters. Bytes that are
// not UTF-8 become U+FFFD. Control characters and text-direction overrides become their escape
// ("\x1b", "\u202e"), so that the name of a kernel cannot move the cursor. Newlines and tabs stay.
std::string printable(std::string_view text);

// The same on one line: the first line that is not empty, with " ..." after it when others follow.
std::string printable_line(std::string_view text);

// Columns on a terminal: two for East Asian wide characters and emoji, none for combining marks.
std::size_t display_width(std::string_view text);

// The text with lines of at most `width` columns, except for words that are longer. A line that is
// too long is broken at a blank. The lines that continue it are indented by four more than it is.
std::string folded(std::string_view text, std::size_t width);

}  // namespace mgtune
