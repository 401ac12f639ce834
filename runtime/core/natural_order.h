// Compares texts so that runs of digits compare as numbers: rows=64 comes before rows=4096. A pure
// function.

#pragma once

#include <string_view>

namespace mgtune {

// Returns a number below 0 if `a` comes before `b`, 0 if they are equal, and above 0 otherwise.
// Texts that differ only in leading zeros are equal.
int compare_naturally(std::string_view a, std::string_view b);

}  // namespace mgtune
