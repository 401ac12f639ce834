// The admissible variants of a space, as a list and as a number. Pure functions.

#pragma once

#include <cstdint>
#include <vector>

#include "space/variant_set.h"

namespace mgtune {

inline std::vector<Variant> all_variants(const VariantSet& set) {
  std::vector<Variant> variants;
  set.for_each([&variants](const Variant& variant) {
    variants.push_back(variant);
    return true;
  });
  return variants;
}

inline std::uint64_t count_variants(const VariantSet& set) {
  std::uint64_t count = 0;
  set.for_each([&count](const Variant&) { return ++count > 0; });
  return count;
}

}  // namespace mgtune
