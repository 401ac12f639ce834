#include "selection/cross_validation.h"

#include <algorithm>
#include <optional>

#include "selection/slowdown_model.h"

namespace mgtune {
namespace {

// The evidence without the rows of the problem.
Evidence without(const Problem& problem, const Evidence& evidence) {
  Evidence rest = evidence;
  std::erase_if(rest.tuned,
                [&](const TunedEntry& entry) { return entry.problem.slots == problem.slots; });
  std::erase_if(rest.rows, [&](const Evidence::Row& row) {
    return evidence.problems[row.problem].slots == problem.slots;
  });
  return rest;
}

std::optional<HeldOut> hold_out(const MeasuredProblem& measured, const DeviceInfo& device,
                                const Evidence& evidence) {
  const auto time_of = [&](const Variant& variant) {
    return measured.median_ns(variant).value_or(0);
  };
  const std::vector<SelectedVariant> defaults =
      select_variants(*measured.problem, device, Evidence());
  const Evidence rest = without(*measured.problem, evidence);
  for (const SelectedVariant& candidate : select_variants(*measured.problem, device, rest)) {
    const double median_ns = time_of(candidate.variant);
    if (median_ns <= 0) continue;
    return HeldOut{measured.problem,
                   candidate.variant,
                   *measured.variants.front().variant,
                   median_ns,
                   measured.best_ns(),
                   defaults.empty() ? 0 : time_of(defaults.front().variant)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<HeldOut> cross_validate(const Problem& near, const DeviceInfo& device,
                                    const Evidence& evidence, std::size_t limit) {
  std::vector<MeasuredProblem> measured =
      measured_problems(evidence, gpu_record(device), near.binding());
  std::ranges::stable_sort(measured, {}, [&](const MeasuredProblem& one) {
    return problem_distance(*one.problem, near);
  });
  std::vector<HeldOut> all;
  if (measured.size() < 2) return all;
  for (const MeasuredProblem& problem : measured) {
    if (all.size() == limit) break;
    if (std::optional<HeldOut> one = hold_out(problem, device, evidence)) {
      all.push_back(*std::move(one));
    }
  }
  return all;
}

std::vector<double> regrets(const std::vector<HeldOut>& problems) {
  std::vector<double> all;
  all.reserve(problems.size());
  for (const HeldOut& problem : problems) all.push_back(problem.regret());
  return all;
}

std::vector<double> default_regrets(const std::vector<HeldOut>& problems) {
  std::vector<double> known;
  for (const HeldOut& problem : problems) {
    if (problem.default_ns > 0) known.push_back(problem.default_regret());
  }
  return known;
}

double median_regret(std::vector<double> regrets) {
  if (regrets.empty()) return 0;
  std::sort(regrets.begin(), regrets.end());
  const std::size_t middle = regrets.size() / 2;
  return regrets.size() % 2 == 1 ? regrets[middle] : (regrets[middle - 1] + regrets[middle]) / 2;
}

double worst_regret(const std::vector<double>& regrets) {
  return regrets.empty() ? 0 : *std::max_element(regrets.begin(), regrets.end());
}

}  // namespace mgtune
