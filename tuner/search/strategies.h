// What search.cpp knows of each strategy: a function that makes it. A strategy need not think of
// the ladder; search.cpp puts it in front and keeps the rest free of it.

#pragma once

#include <cstdint>
#include <memory>

#include "search/search.h"

namespace mgtune {

std::unique_ptr<Search> make_exhaustive_search(const Space& space, std::uint64_t seed);
std::unique_ptr<Search> make_random_search(const Space& space, std::uint64_t seed);

}  // namespace mgtune
