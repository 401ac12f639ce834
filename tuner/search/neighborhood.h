// neighbors(): the admissible variants of the same design that differ from one in a single
// parameter, or by one step in the lists of two: what constraints tie together (a tile's two sides
// within one budget of threads) only moves in pairs. A pure function.

#pragma once

#include <vector>

#include "family/variant.h"
#include "space/variant_set.h"

namespace mgtune {

// Of a parameter with very many values only the nearest 32.
std::vector<Variant> neighbors(const VariantSet& set, const Variant& variant);

}  // namespace mgtune
