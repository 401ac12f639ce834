// Search: in which order to evaluate the variants of a set. A strategy is one file here and one
// line in the table of search.cpp. One thread.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "family/variant.h"
#include "space/variant_set.h"
#include "store/records.h"

namespace mgtune {

struct Evaluation {
  Variant variant;
  Outcome outcome = Outcome::ok;
  double median_ns = 0;  // when outcome is ok; when raced_out the variant is at least so slow
};

class Search {
 public:
  virtual ~Search() = default;

  // The next variant to evaluate, each at most once; nullopt when there are no more. It may be
  // called again before earlier variants are reported, because compiling runs ahead of measuring.
  virtual std::optional<Variant> next() = 0;

  // In any order, at most once per variant. The variant need not come from next().
  virtual void report(const Evaluation& evaluation) = 0;

  // How likely it is, judging by what was reported, that a variant which next() has not returned
  // yet is faster than the fastest by more than `gain` (above 0 and below 1: 0.02 is 2 %). 1 while
  // the strategy cannot know.
  virtual double chance_of_gain(double /*gain*/) const { return 1; }
};

// What is known of variants from elsewhere, for example from the nearest problem. A strategy that
// learns tries the best of them early. They may be inadmissible here, and their times are no results.
struct WarmVariant {
  Variant variant;
  double relative_time = 1;  // over that of the fastest
};
using WarmStart = std::vector<WarmVariant>;

// What search.cpp knows of a strategy. A strategy NAME is one file here that defines
// NAME_strategy(), and one line in the table of search.cpp. A strategy may ignore the ladder of
// defaults: search.cpp returns its variants first and leaves them out of the rest.
struct Strategy {
  std::string_view name;
  std::unique_ptr<Search> (*make)(const VariantSet& set, std::uint64_t seed,
                                  const WarmStart& warm_start);
  bool starts_warm = false;
  bool estimates_gain = false;
};

std::vector<std::string> search_strategies();  // names, sorted
std::string strategy_list();                   // "adaptive, exhaustive or random"

// invalid_argument with "did you mean" for an unknown one.
Status check_strategy(const std::string& strategy);

// For a budget that does not cover the space.
inline constexpr std::string_view kDefaultStrategy = "adaptive";

// Whether the strategy, which is known, makes something of a warm start.
bool starts_warm(const std::string& strategy);

// Whether the strategy, which is known, ever returns a chance_of_gain() below 1.
bool estimates_gain(const std::string& strategy);

// The set's ladder comes first in every strategy, so that a sweep that stops early has a result to
// compare with. It fails as check_strategy() does. `set` outlives the result.
Result<std::unique_ptr<Search>> make_search(const std::string& strategy, const VariantSet& set,
                                            std::uint64_t seed, const WarmStart& warm_start = {});

// Target: when a search has found enough. With a target of 0.98 that is when a variant faster than
// the fastest by another 2 % is unlikely: by the strategy's own estimate, less than 1 in 20.
//
// The text is a number above 0 and below 1. invalid_argument for anything else, and for a strategy
// that cannot estimate the chance of a gain ("" is one that can).
Result<double> parse_target(const std::string& text, const std::string& strategy);

bool is_reached(double target, const Search& search);

// "2 %": the gain that is unlikely.
std::string gain_text(double target);

}  // namespace mgtune
