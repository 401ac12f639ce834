#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/text.h"

// The strategies, one per line, sorted by name.
#define MGTUNE_STRATEGIES(STRATEGY) \
  STRATEGY(adaptive)                \
  STRATEGY(exhaustive)              \
  STRATEGY(random)

#define MGTUNE_DECLARE_STRATEGY(name) Strategy name##_strategy();
#define MGTUNE_STRATEGY_ROW(name) name##_strategy(),

namespace mgtune {

MGTUNE_STRATEGIES(MGTUNE_DECLARE_STRATEGY)

namespace {

// A target is reached if the chance of a further gain is below this.
constexpr double kUnlikely = 0.05;

std::span<const Strategy> strategies() {
  static const std::array kStrategies = {MGTUNE_STRATEGIES(MGTUNE_STRATEGY_ROW)};
  return kStrategies;
}

// invalid_argument with "did you mean" if there is no such strategy.
Result<const Strategy*> find_strategy(const std::string& name) {
  const auto found = std::ranges::find(strategies(), name, &Strategy::name);
  if (found != strategies().end()) return &*found;
  return invalid_argument("unknown strategy '" + name + "'" +
                          must_be_one_of(name, search_strategies()));
}

// Without rules, a search starts with this many rungs of the ladder. Further rungs are meant for
// other problems; with the evaluations that they would cost, the strategy finds better variants.
constexpr std::size_t kStartingRungs = 4;

constexpr std::size_t kMaxWarm = 8;

// The default, then the variants that the rules rank or, if there are no rules, a few more rungs of
// the ladder.
std::vector<Variant> first_variants(const VariantSet& set, const std::vector<Variant>& ranked) {
  std::vector<Variant> first = set.ladder();
  const std::size_t rungs = ranked.empty() ? kStartingRungs : 1;
  if (first.size() > rungs) first.resize(rungs);
  for (const Variant& variant : ranked) {
    const bool is_known = std::ranges::find(first, variant) != first.end();
    if (!is_known && set.admits(variant)) first.push_back(variant);
  }
  return first;
}

// Returns these variants first, and then the other variants of a strategy.
class FirstVariants final : public Search {
 public:
  FirstVariants(std::vector<Variant> first, std::unique_ptr<Search> strategy)
      : strategy_(std::move(strategy)), first_(std::move(first)) {}

  std::optional<Variant> next() override {
    if (given_ < first_.size()) return first_[given_++];
    std::optional<Variant> variant = strategy_->next();
    while (variant.has_value() && is_first(*variant)) variant = strategy_->next();
    return variant;
  }

  std::function<void()> long_work() override {
    return is_at_start() ? nullptr : strategy_->long_work();
  }

  void report(const Evaluation& evaluation) override { strategy_->report(evaluation); }
  double chance_of_gain(double gain) const override { return strategy_->chance_of_gain(gain); }
  bool is_at_start() const override { return given_ < first_.size(); }

  // A strategy tries only a few variants of a warm start, so we leave out those that come first
  // anyway.
  void start_warm(const WarmStart& warm_start) override {
    WarmStart others = warm_start;
    std::erase_if(others, [this](const WarmVariant& warm) { return is_first(warm.variant); });
    strategy_->start_warm(others);
  }

 private:
  bool is_first(const Variant& variant) const {
    return std::find(first_.begin(), first_.end(), variant) != first_.end();
  }

  std::unique_ptr<Search> strategy_;
  std::vector<Variant> first_;
  std::size_t given_ = 0;
};

}  // namespace

std::vector<std::string> search_strategies() {
  std::vector<std::string> names;
  names.reserve(strategies().size());
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  return names;
}

std::string strategy_list() {
  std::string text;
  const std::vector<std::string> names = search_strategies();
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

WarmStart fastest_of(WarmStart known) {
  std::ranges::stable_sort(known, {}, &WarmVariant::relative_time);
  if (known.size() > kMaxWarm) known.resize(kMaxWarm);
  for (std::size_t i = known.size(); i > 0; --i) {
    known[i - 1].relative_time /= known[0].relative_time;
  }
  return known;
}

bool starts_warm(const std::string& strategy) {
  const Result<const Strategy*> known = find_strategy(strategy);
  return known.ok() && (*known)->starts_warm;
}

bool estimates_gain(const std::string& strategy) {
  const Result<const Strategy*> known = find_strategy(strategy);
  return known.ok() && (*known)->estimates_gain;
}

Status check_strategy(const std::string& strategy) { return find_strategy(strategy).status(); }

Result<std::unique_ptr<Search>> make_search(const std::string& strategy, const VariantSet& set,
                                            std::uint64_t seed, const WarmStart& warm_start,
                                            const std::shared_ptr<WalkLimit>& limit,
                                            const std::vector<Variant>& ranked) {
  MGTUNE_ASSIGN(const Strategy* known, find_strategy(strategy));
  std::unique_ptr<Search> search =
      std::make_unique<FirstVariants>(first_variants(set, ranked), known->make(set, seed, limit));
  if (!warm_start.empty()) search->start_warm(warm_start);
  return search;
}

Result<double> parse_target(const std::string& text, const std::string& strategy) {
  const auto target = parse_number<double>(text);
  if (!target || !(*target > 0) || !(*target < 1)) {
    return invalid_argument("--target: expected a number between 0 and 1, such as 0.98, got '" +
                            text + "'");
  }
  if (strategy.empty()) return *target;
  MGTUNE_TRY(check_strategy(strategy));
  if (!estimates_gain(strategy)) {
    return invalid_argument("--target: the strategy " + strategy +
                            " visits everything and cannot tell what is left; use adaptive or "
                            "random");
  }
  return *target;
}

bool is_reached(double target, const Search& search) {
  return search.chance_of_gain(1 - target) < kUnlikely;
}

std::string gain_text(double target) { return fmt::format("{:.3g} %", 100 * (1 - target)); }

}  // namespace mgtune
