// Finds the line of a value in an operator file. Pure functions.

#pragma once

#include <string>
#include <string_view>

#include "family/operator.h"

namespace mgtune {

// The line, from 1, of the value at a JSON pointer in a valid JSON text. If there is no such value:
// the line of the innermost value that would contain it.
int line_of_pointer(std::string_view json, std::string_view pointer);

// "scale/vector.json:27: /designs/flat/launches/0/kernel". The file is the operator's own file, or
// a file that it extends.
std::string place_with_line(const Operator& op, const std::string& pointer);

}  // namespace mgtune
