// The order of texts in which runs of digits compare as numbers, so that rows=64 comes before
// rows=4096. A pure function.

#pragma once

#include <string_view>

namespace mgtune {

// Below, at or above 0 as `a` comes before `b`, with it or after it. 0 only for texts that are the
// same up to leading zeros.
int compare_naturally(std::string_view a, std::string_view b);

}  // namespace mgtune
