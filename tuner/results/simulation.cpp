#include "results/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace mgtune {
namespace {

constexpr std::array<std::size_t, 4> kBudgets = {20, 50, 100, 200};
constexpr std::size_t kDefaultEvaluations = 200;

}  // namespace

std::vector<std::size_t> Evaluations::budgets(std::size_t variants) const {
  const auto own = static_cast<std::size_t>(std::ceil(share * static_cast<double>(variants)));
  const std::size_t limit =
      share > 0 ? std::max<std::size_t>(own, 1) : number.value_or(kDefaultEvaluations);
  std::vector<std::size_t> budgets;
  for (const std::size_t budget : kBudgets) {
    if (budget < limit || (budget == limit && share == 0)) budgets.push_back(budget);
  }
  if (share > 0) budgets.push_back(limit);
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
    if (*number >= kBudgets[0]) return evaluations;
    return invalid_argument(
        fmt::format("--evaluations: expected at least {}, got {}", kBudgets[0], text));
  }
  return invalid_argument(
      "--evaluations: expected a number (200) or a share of the space (25%), "
      "got '" +
      text + "'");
}

Result<Simulation> simulate(const SimulatedSpace& space, const SimulationRequest& request) {
  const Evaluations& evaluations = request.evaluations;
  const std::vector<std::size_t> budgets = evaluations.budgets(space.times.size());
  Simulation simulation;
  simulation.space = space.name;
  simulation.strategy = request.strategy;
  simulation.seeds = request.seeds;
  simulation.variants = space.times.size();
  simulation.target = request.target;
  MGTUNE_ASSIGN(simulation.found,
                replay(*space.set, space.time_of, request.strategy, request.seeds, budgets));
  for (const std::size_t budget : budgets) {
    simulation.random.push_back(random_expectation(space.times, budget));
  }
  if (request.target.has_value()) {
    const std::size_t limit =
        evaluations.share > 0 ? budgets.back() : evaluations.number.value_or(space.times.size());
    MGTUNE_ASSIGN(simulation.stops, replay_to_target(*space.set, space.time_of, request.strategy,
                                                     request.seeds, *request.target, limit));
  }
  return simulation;
}

}  // namespace mgtune
