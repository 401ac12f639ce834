#include "search/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace mgtune {
namespace {

// The fastest time after each of the budgets; infinity for none.
std::vector<double> best_times(Search& search, const TimeOf& time_of,
                               std::span<const std::size_t> budgets) {
  std::vector<double> best_of;
  double best = std::numeric_limits<double>::infinity();
  std::size_t evaluations = 0;
  bool ended = false;
  for (const std::size_t budget : budgets) {
    while (evaluations < budget && !ended) {
      const std::optional<Variant> variant = search.next();
      ended = !variant.has_value();
      if (ended) break;
      ++evaluations;
      const double time = time_of(*variant);
      if (time > 0) best = std::min(best, time);
      search.report({*variant, time > 0 ? Outcome::ok : Outcome::crashed, time});
    }
    best_of.push_back(best);
  }
  return best_of;
}

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
  return {evaluations, mean, 1.96 * error};
}

}  // namespace

Result<std::vector<Quality>> replay(const VariantSet& set, const TimeOf& time_of,
                                    const std::string& strategy, std::uint64_t seeds,
                                    std::span<const std::size_t> budgets) {
  const double best = fastest(set, time_of);
  std::vector<std::vector<double>> fractions(budgets.size());
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    MGTUNE_ASSIGN(const std::unique_ptr<Search> search, make_search(strategy, set, seed));
    const std::vector<double> found = best_times(*search, time_of, budgets);
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      fractions[i].push_back(std::isfinite(found[i]) ? best / found[i] : 0);
    }
  }
  std::vector<Quality> qualities;
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    qualities.push_back(quality(budgets[i], fractions[i]));
  }
  return qualities;
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
