// Text that others wrote (names, compiler messages, command lines), made safe to print. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgtune {

// Valid UTF-8 that draws nothing but itself: bytes that are not UTF-8 become U+FFFD, and control
// characters and text-direction overrides their escape ("\x1b", "\u202e"), so that a kernel's name
// cannot move a terminal's cursor. Newlines and tabs stay.
std::string printable(std::string_view text);

// The same on one line: the first line that is not empty, with " ..." after it when others follow.
std::string printable_line(std::string_view text);

// Columns on a terminal: two for East Asian wide characters and emoji, none for combining marks.
std::size_t display_width(std::string_view text);

}  // namespace mgtune
