// Target: when a search has found enough. With a target of 0.98 that is when a variant faster than
// the fastest by another 2 % is unlikely: by the strategy's own estimate, less than 1 in 20.

#pragma once

#include <string>

#include "core/status.h"
#include "search/search.h"

namespace mgtune {

// A number above 0 and below 1. invalid_argument for anything else, and for a strategy that cannot
// tell ("" is one that can).
Result<double> parse_target(const std::string& text, const std::string& strategy);

bool is_reached(double target, const Search& search);

// "2 %": the gain that is unlikely.
std::string gain_text(double target);

}  // namespace mgtune
