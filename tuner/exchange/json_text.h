// JSON as exports have it: one object a line, so that a line can be compared or cut. Pure.

#pragma once

#include <string>
#include <vector>

namespace mgtune {

// Lines with a comma and a newline between them, `indent` blanks in front of each.
std::string joined_lines(const std::vector<std::string>& lines, std::size_t indent);

}  // namespace mgtune
