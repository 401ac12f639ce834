// VariantStages: the variants that are between the search and their row, by what they wait for.
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
  std::string default_variant;  // the variant_text() of the one that is measured before all others
  std::map<std::int64_t, std::vector<VariantState>> compiling = {};  // by request
  std::deque<VariantState> ready = {};
  std::map<std::int64_t, VariantState> measuring = {};  // by request

  bool is_default(const VariantState& state) const { return state.variant == default_variant; }
  bool is_default_on_its_way() const;  // compiling or being measured
  std::size_t size() const;

  // Adds the variant to those that wait for the same build; false, with `state` untouched, if none
  // does.
  bool join_compiling(VariantState& state);

  VariantState next_ready();  // the default before the others; not to be called when none is ready
};

}  // namespace mgtune
