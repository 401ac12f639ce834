#include "search/search.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/suggest.h"
#include "search/strategies.h"

namespace mgtune {
namespace {

struct Strategy {
  std::string_view name;
  std::unique_ptr<Search> (*make)(const Space& space, std::uint64_t seed);
};

// Sorted by name.
constexpr std::array kStrategies = {
    Strategy{"exhaustive", make_exhaustive_search},
    Strategy{"random", make_random_search},
};

// The admissible variants of the default ladder, then those of a strategy that are not among them.
class LadderFirst final : public Search {
 public:
  LadderFirst(const Space& space, std::unique_ptr<Search> strategy)
      : strategy_(std::move(strategy)) {
    for (Variant& variant : default_ladder(space.op())) {
      if (space.admits(variant) && !in_ladder(variant)) ladder_.push_back(std::move(variant));
    }
  }

  std::optional<Variant> next() override {
    if (next_of_ladder_ < ladder_.size()) return ladder_[next_of_ladder_++];
    std::optional<Variant> variant = strategy_->next();
    while (variant.has_value() && in_ladder(*variant)) variant = strategy_->next();
    return variant;
  }

  void report(const Evaluation& evaluation) override { strategy_->report(evaluation); }

 private:
  bool in_ladder(const Variant& variant) const {
    return std::find(ladder_.begin(), ladder_.end(), variant) != ladder_.end();
  }

  std::unique_ptr<Search> strategy_;
  std::vector<Variant> ladder_;
  std::size_t next_of_ladder_ = 0;
};

}  // namespace

std::vector<std::string> search_strategies() {
  std::vector<std::string> names;
  names.reserve(kStrategies.size());
  for (const Strategy& strategy : kStrategies) names.emplace_back(strategy.name);
  return names;
}

Result<std::unique_ptr<Search>> make_search(const std::string& strategy, const Space& space,
                                            std::uint64_t seed) {
  for (const Strategy& known : kStrategies) {
    if (known.name != strategy) continue;
    return std::unique_ptr<Search>(std::make_unique<LadderFirst>(space, known.make(space, seed)));
  }
  return invalid_argument("unknown strategy '" + strategy + "'" +
                          did_you_mean(strategy, search_strategies()));
}

}  // namespace mgtune
