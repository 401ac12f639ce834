#include "results/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace mgtune {
namespace {

constexpr std::array<std::size_t, 4> kBudgets = {20, 50, 100, 200};
constexpr std::size_t kDefaultEvaluations = 200;

}  // namespace

std::size_t Evaluations::of(std::size_t variants) const {
  const auto part = static_cast<std::size_t>(std::ceil(share * static_cast<double>(variants)));
  const std::size_t wanted =
      share > 0 ? std::max<std::size_t>(part, 1) : number.value_or(kDefaultEvaluations);
  return std::min(wanted, variants);
}

std::vector<std::size_t> Evaluations::budgets(std::size_t variants) const {
  const std::size_t last = of(variants);
  std::vector<std::size_t> budgets;
  for (const std::size_t budget : kBudgets) {
    if (budget < last) budgets.push_back(budget);
  }
  budgets.push_back(last);
  return budgets;
}

Result<Evaluations> parse_evaluations(const std::string& text) {
  Evaluations evaluations;
  if (text.empty()) return evaluations;
  if (text.ends_with('%')) {
    const auto percent = parse_number<double>(text.substr(0, text.size() - 1));
    if (percent && *percent > 0 && *percent <= 100) {
      evaluations.share = *percent / 100;
      return evaluations;
    }
  } else if (const auto number = parse_number<std::size_t>(text)) {
    evaluations.number = number;
    if (*number > 0) return evaluations;
  }
  return invalid_argument(
      "--evaluations: expected a number above 0 (200) or a share of the space (25%), got '" + text +
      "'");
}

Result<Simulation> simulate(const SimulatedSpace& space, const SimulationRequest& request) {
  const std::size_t variants = space.times.size();
  const Evaluations& evaluations = request.evaluations;
  ReplayRequest replayed;
  replayed.strategy = request.strategy;
  replayed.seeds = request.seeds;
  replayed.budgets = evaluations.budgets(variants);
  replayed.target = request.target;
  const bool is_limited = evaluations.share > 0 || evaluations.number.has_value();
  replayed.target_limit = is_limited ? evaluations.of(variants) : variants;
  replayed.warm_start = space.warm_start;

  Simulation simulation;
  simulation.space = space.name;
  simulation.strategy = request.strategy;
  simulation.warm_from = space.warm_from;
  simulation.variants = variants;
  if (evaluations.number.value_or(0) > variants) simulation.asked = evaluations.number;
  simulation.target = request.target;
  MGTUNE_ASSIGN(simulation.runs, replay(*space.set, space.time_of, replayed));
  simulation.found = qualities(replayed.budgets, simulation.runs);
  for (const std::size_t budget : replayed.budgets) {
    simulation.random.push_back(random_expectation(space.times, budget));
  }
  return simulation;
}

}  // namespace mgtune
