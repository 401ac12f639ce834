// "Did you mean": the candidate nearest to a misspelt word. A pure function.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgtune {

// "; did you mean 'rmsnorm'?" for the candidate within a third of the word's length in edits
// (insert, delete, change, swap of neighbours), or "" when none is that near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace mgtune
