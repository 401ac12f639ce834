// Strategy: what search.cpp knows of a search strategy. A strategy NAME is one file here that
// defines NAME_strategy(), and one line in the table of search.cpp. A strategy may ignore the
// ladder of defaults: search.cpp gives its variants first and leaves them out of the rest.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "search/search.h"

namespace mgtune {

struct Strategy {
  std::string_view name;
  std::unique_ptr<Search> (*make)(const VariantSet& set, std::uint64_t seed,
                                  const WarmStart& warm_start);
  bool starts_warm = false;
  bool estimates_gain = false;
};

}  // namespace mgtune
