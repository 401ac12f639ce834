// Search: decides in which order to evaluate the variants of a set. A strategy is one file in this
// folder and one line in the table of search.cpp. One thread.

#pragma once

#include <cstdint>
#include <functional>
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

// A variant that was measured somewhere else, for example on the nearest problem. A strategy that
// learns tries the fastest of them early. Some may not be admissible in this set, and their times
// do not count as results of this search.
struct WarmVariant {
  Variant variant;
  double relative_time = 1;  // its time divided by the time of the fastest
};
using WarmStart = std::vector<WarmVariant>;

// The eight fastest of the variants that were measured elsewhere, the fastest first. A search gets
// these. It gets more than it starts with, because it skips those that it tries anyway. In `known`,
// relative_time is the time in any unit.
WarmStart fastest_of(WarmStart known);

struct Evaluation {
  Variant variant;
  Outcome outcome = Outcome::ok;
  double median_ns = 0;  // if outcome is ok; if it is raced_out, the true median is at least this
};

class Search {
 public:
  virtual ~Search() = default;

  // The next variant to evaluate. It returns each variant at most once, and nullopt if there are no
  // more or the limit of the search was reached before one was found. It may be called again before
  // earlier variants are reported, because a sweep compiles several variants while it measures one.
  virtual std::optional<Variant> next() = 0;

  // Returns the work that next() would do first now, if this work takes long (10 to 50 ms). The
  // caller does the work instead, perhaps on another thread, and calls no other function until the
  // work is done. The search then returns the same variants as if next() had done it. Empty if
  // there is no such work. The limit must be restarted before long_work() as before next(); the
  // work itself does not use it.
  virtual std::function<void()> long_work() { return nullptr; }

  // Tells the strategy a result. Results may come in any order, at most one for each variant. It
  // may also be the result of a variant that next() did not return.
  virtual void report(const Evaluation& evaluation) = 0;

  // Names variants that next() should return early: right after those that a search starts with.
  // At most one call, before next() has returned any other variant.
  virtual void start_warm(const WarmStart& /*warm_start*/) {}

  // Whether next() now returns one of the variants that every search starts with, which do not
  // depend on start_warm() and report().
  virtual bool is_at_start() const { return false; }

  // The probability that some variant that next() has not returned yet is faster than the fastest
  // variant so far by more than `gain` (0.02 is 2 %). The strategy estimates it from the results
  // that were reported. It is 1 if the strategy has no estimate.
  virtual double chance_of_gain(double /*gain*/) const { return 1; }
};

// An entry of the table of strategies in search.cpp. A strategy NAME is one file in this folder
// that defines NAME_strategy(), and one line in that table. A strategy may ignore the variants that
// every search starts with: search.cpp returns them first, and skips them when the strategy returns
// them again.
struct Strategy {
  std::string_view name;
  std::unique_ptr<Search> (*make)(const VariantSet& set, std::uint64_t seed,
                                  const std::shared_ptr<WalkLimit>& limit);
  bool starts_warm = false;
  bool estimates_gain = false;
};

std::vector<std::string> search_strategies();  // names, sorted
std::string strategy_list();                   // "adaptive, exhaustive or random"

// invalid_argument with "did you mean" if there is no such strategy.
Status check_strategy(const std::string& strategy);

// The strategy that is used if the budget is too small for all variants of the space.
inline constexpr std::string_view kDefaultStrategy = "adaptive";

// Whether the strategy uses a warm start, and whether it estimates chance_of_gain(). False if there
// is no such strategy.
bool starts_warm(const std::string& strategy);
bool estimates_gain(const std::string& strategy);

// With every strategy, the default comes first, so that a sweep that stops early has its time to
// compare with. Then come the variants of `ranked`, which rules name for the problem, or, if there
// are none, three more rungs of the ladder. It fails as check_strategy() does. `set` must outlive
// the result. The search shares the limit with its user, who restarts it before each next().
Result<std::unique_ptr<Search>> make_search(
    const std::string& strategy, const VariantSet& set, std::uint64_t seed,
    const WarmStart& warm_start = {},
    const std::shared_ptr<WalkLimit>& limit = std::make_shared<WalkLimit>(),
    const std::vector<Variant>& ranked = {});

// A target says when a search may stop. With a target of 0.98, the search stops when a gain of 2 %
// has become unlikely: the strategy estimates that the probability of a variant that is 2 % faster
// than the fastest so far is below 5 %.
//
// The text must be a number above 0 and below 1. invalid_argument for any other text, and if the
// strategy cannot estimate the chance of a gain. An empty `strategy` (the sweep chooses one) is
// accepted. An unknown strategy is refused as by check_strategy().
Result<double> parse_target(const std::string& text, const std::string& strategy);

bool is_reached(double target, const Search& search);

// The gain that the target calls unlikely: "2 %" for 0.98.
std::string gain_text(double target);

}  // namespace mgtune
