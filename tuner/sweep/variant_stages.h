// VariantStages: the variants that the search has proposed and that are not recorded yet, grouped
// by what they wait for.
//
//   compiling -> ready -> measuring
//
// Variants with the same build compile together. One thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sweep/known_results.h"

namespace mgtune {

struct VariantStages {
  std::string default_variant;  // its variant_text(); it is measured before all others
  std::map<std::int64_t, std::vector<VariantState>> compiling = {};  // by request
  std::deque<VariantState> ready = {};
  std::map<std::int64_t, VariantState> measuring = {};  // by request

  bool is_default(const VariantState& state) const { return state.variant == default_variant; }
  bool is_default_on_its_way() const;  // compiling or being measured
  std::size_t size() const;

  // Adds the variant to the variants that wait for the same build. If there are none, returns false
  // and does not change `state`.
  bool join_compiling(VariantState& state);

  VariantState next_ready();  // the default before the others; at least one must be ready
};

}  // namespace mgtune
