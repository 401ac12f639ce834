// What search.cpp knows of each strategy: a function that makes it. A strategy need not think of
// the ladder; search.cpp puts it in front and keeps the rest free of it.

#pragma once

#include <cstdint>
#include <memory>

#include "search/search.h"

namespace mgtune {

using MakeSearch = std::unique_ptr<Search>(const VariantSet& set, std::uint64_t seed,
                                           const WarmStart& warm_start);

MakeSearch make_adaptive_search;
MakeSearch make_exhaustive_search;
MakeSearch make_random_search;

}  // namespace mgtune
