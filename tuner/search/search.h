// Search: in which order to evaluate the variants of a space. A strategy is one file here and its
// row in search.cpp. One thread.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/variant.h"
#include "space/space.h"
#include "store/records.h"

namespace mgtune {

struct Evaluation {
  Variant variant;
  Outcome outcome = Outcome::ok;
  double median_ns = 0;  // when outcome is ok or raced_out
};

class Search {
 public:
  virtual ~Search() = default;

  // The next variant to evaluate, each at most once; nullopt when done. May be asked for more
  // before earlier ones are reported: compiling runs ahead of measuring.
  virtual std::optional<Variant> next() = 0;
  virtual void report(const Evaluation& evaluation) = 0;

 protected:
  Search() = default;
  Search(const Search&) = default;
  Search& operator=(const Search&) = default;
};

std::vector<std::string> search_strategies();  // names, sorted

// The default ladder's variants come first in every strategy, so that a sweep that stops early has
// what it compares with. invalid_argument with "did you mean" for an unknown strategy. `space`
// outlives it.
Result<std::unique_ptr<Search>> make_search(const std::string& strategy, const Space& space,
                                            std::uint64_t seed);

}  // namespace mgtune
