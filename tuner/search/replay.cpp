#include "search/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "search/search.h"

namespace mgtune {
namespace {

// One strategy at work, evaluation by evaluation.
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

}  // namespace

Result<std::vector<Quality>> replay(const VariantSet& set, const TimeOf& time_of,
                                    const std::string& strategy, std::uint64_t seeds,
                                    std::span<const std::size_t> budgets) {
  const double best = fastest(set, time_of);
  std::vector<std::vector<double>> fractions(budgets.size());
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    MGTUNE_ASSIGN(const std::unique_ptr<Search> search, make_search(strategy, set, seed));
    Run run(*search, time_of);
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      while (run.evaluations() < budgets[i] && run.advance()) {
      }
      fractions[i].push_back(run.fraction(best));
    }
  }
  std::vector<Quality> qualities;
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    qualities.push_back(quality(budgets[i], fractions[i]));
  }
  return qualities;
}

Result<std::vector<Stop>> replay_to_target(const VariantSet& set, const TimeOf& time_of,
                                           const std::string& strategy, std::uint64_t seeds,
                                           double target, std::size_t max_evaluations) {
  const double best = fastest(set, time_of);
  std::vector<Stop> stops;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    MGTUNE_ASSIGN(const std::unique_ptr<Search> search, make_search(strategy, set, seed));
    Run run(*search, time_of);
    bool reached = false;
    while (!reached && run.evaluations() < max_evaluations && run.advance()) {
      reached = is_reached(target, *search);
    }
    stops.push_back({run.evaluations(), run.fraction(best), reached});
  }
  return stops;
}

double random_expectation(std::vector<double> times, std::size_t evaluations) {
  const auto count = static_cast<double>(times.size());
  std::erase_if(times, [](double time) { return !(time > 0); });
  std::ranges::sort(times);
  double expectation = 0;
  double none_faster = 1;  // the probability that no faster one was drawn
  double left = count;     // that are not faster
  for (const double time : times) {
    const double drawn = std::min(1.0, static_cast<double>(evaluations) / left);
    expectation += none_faster * drawn * times.front() / time;
    none_faster *= 1 - drawn;
    --left;
  }
  return expectation;
}

}  // namespace mgtune
