// "Did you mean": the candidate nearest to a misspelt word. A pure function.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgtune {

// Returns "; did you mean 'rmsnorm'?" for the nearest candidate, or "" if none is near. A candidate
// is near if it differs by at most a third of the word's length in edits (insert, delete, change,
// swap of neighbours).
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace mgtune
