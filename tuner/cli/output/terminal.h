// Finds out whether standard output and standard error are terminals, how wide a terminal is, and
// whether it shows colors. Text for a terminal is folded to its width and colored; other text stays
// as it is.

#pragma once

#include <cstddef>
#include <string>

namespace mgtune {

// Whether the descriptor `file` writes to a terminal that can move its cursor (TERM is not dumb).
bool is_terminal(int file);

// Whether it is such a terminal and NO_COLOR is not set (https://no-color.org).
bool shows_color(int file);

// The width of the terminal that the descriptor `file` writes to; `otherwise` if it is no terminal.
std::size_t terminal_columns(int file, std::size_t otherwise);

// The text with the words of outcomes and comparisons (wrong, SLOWER, FASTER) in red or green.
std::string colored(const std::string& text);

// Prints tables and sentences on standard output.
void print_text(const std::string& text);

}  // namespace mgtune
