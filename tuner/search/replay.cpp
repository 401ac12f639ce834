#include "search/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "search/search.h"

namespace mgtune {
namespace {

// Runs one search, evaluation by evaluation.
class Run {
 public:
  Run(Search& search, const TimeOf& time_of) : search_(search), time_of_(time_of) {}

  bool advance() {  // false when there is nothing left
    const std::optional<Variant> variant = search_.next();
    if (!variant.has_value()) return false;
    ++evaluations_;
    const double time = time_of_(*variant);
    if (time > 0) best_ = std::min(best_, time);
    search_.report({*variant, time > 0 ? Outcome::ok : Outcome::crashed, time});
    return true;
  }

  std::size_t evaluations() const { return evaluations_; }
  double fraction(double optimum) const { return std::isfinite(best_) ? optimum / best_ : 0; }

 private:
  Search& search_;
  const TimeOf& time_of_;
  std::size_t evaluations_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
};

double fastest(const VariantSet& set, const TimeOf& time_of) {
  double best = std::numeric_limits<double>::infinity();
  set.for_each([&](const Variant& variant) {
    const double time = time_of(variant);
    if (time > 0) best = std::min(best, time);
    return true;
  });
  return best;
}

Quality quality(std::size_t evaluations, std::span<const double> fractions) {
  const auto count = static_cast<double>(fractions.size());
  double mean = 0;
  for (const double fraction : fractions) mean += fraction / count;
  double squares = 0;
  for (const double fraction : fractions) squares += (fraction - mean) * (fraction - mean);
  const double error = count > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
  return {evaluations, mean, 1.96 * error, *std::ranges::min_element(fractions)};
}

Result<SeedRun> run_of(const VariantSet& set, const TimeOf& time_of, const ReplayRequest& request,
                       std::uint64_t seed, double optimum) {
  MGTUNE_ASSIGN(const std::unique_ptr<Search> search,
                make_search(request.strategy, set, seed, request.warm_start,
                            std::make_shared<WalkLimit>(), request.ranked));
  Run run(*search, time_of);
  SeedRun result;
  const auto stop_if_due = [&](bool is_over) {
    if (!request.target.has_value() || result.stop.has_value()) return;
    const bool reached = run.evaluations() > 0 && is_reached(*request.target, *search);
    if (!reached && !is_over && run.evaluations() < request.target_limit) return;
    result.stop = Stop{run.evaluations(), run.fraction(optimum), reached};
  };
  // If a budget is larger, the search continues after its stop.
  const auto advance_to = [&](std::size_t evaluations) {
    while (run.evaluations() < evaluations && run.advance()) stop_if_due(false);
  };
  for (const std::size_t budget : request.budgets) {
    advance_to(budget);
    result.fractions.push_back(run.fraction(optimum));
  }
  while (request.target.has_value() && !result.stop.has_value()) stop_if_due(!run.advance());
  return result;
}

}  // namespace

Result<std::vector<SeedRun>> replay(const VariantSet& set, const TimeOf& time_of,
                                    const ReplayRequest& request) {
  const double optimum = fastest(set, time_of);
  std::vector<SeedRun> runs;
  for (std::uint64_t seed = 1; seed <= request.seeds; ++seed) {
    MGTUNE_ASSIGN(SeedRun run, run_of(set, time_of, request, seed, optimum));
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Quality> qualities(std::span<const std::size_t> budgets,
                               std::span<const SeedRun> runs) {
  std::vector<Quality> found;
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    std::vector<double> fractions;
    fractions.reserve(runs.size());
    for (const SeedRun& run : runs) fractions.push_back(run.fractions[i]);
    found.push_back(quality(budgets[i], fractions));
  }
  return found;
}

double random_expectation(std::vector<double> times, std::size_t evaluations) {
  const auto count = static_cast<double>(times.size());
  std::erase_if(times, [](double time) { return !(time > 0); });
  std::ranges::sort(times);
  double expectation = 0;
  double none_faster = 1;  // the probability that no faster variant was drawn
  double left = count;     // the number of variants that are not faster
  for (const double time : times) {
    const double drawn = std::min(1.0, static_cast<double>(evaluations) / left);
    expectation += none_faster * drawn * times.front() / time;
    none_faster *= 1 - drawn;
    --left;
  }
  return expectation;
}

}  // namespace mgtune
