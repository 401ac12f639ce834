#include "selection/measured_problems.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace mgtune {

std::optional<double> MeasuredProblem::median_ns(std::uint32_t variant) const {
  for (const MeasuredVariant& measured : variants) {
    if (measured.variant == variant) return measured.median_ns;
  }
  return std::nullopt;
}

bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b) {
  const auto same = [&](const auto& name) {
    return a[std::size_t(name.slot)] == b[std::size_t(name.slot)];
  };
  return std::all_of(op.dtypes.begin(), op.dtypes.end(), same) &&
         std::all_of(op.flags.begin(), op.flags.end(), same);
}

std::vector<MeasuredProblem> measured_problems(const Evidence& evidence, const GpuRecord& gpu,
                                               const Binding& binding) {
  const std::vector<bool> on_gpu = places_of(gpu, evidence.gpus);
  std::vector<bool> alike;
  alike.reserve(evidence.problems.size());
  for (const Problem& problem : evidence.problems) {
    alike.push_back(same_dtypes_and_flags(*binding.op, binding.slots, problem.slots));
  }
  std::vector<bool> failed(evidence.variants.size(), false);
  for (const Evidence::Row& row : evidence.rows) {
    if (rules_out(row.outcome) && on_gpu[row.gpu]) failed[row.variant] = true;
  }
  std::map<std::uint32_t, MeasuredProblem> problems;
  for (const Evidence::Row& row : evidence.rows) {
    if (row.median_ns <= 0 || failed[row.variant] || !on_gpu[row.gpu] || !alike[row.problem]) {
      continue;
    }
    const MeasuredProblem empty{&evidence.problems[row.problem], {}};
    MeasuredProblem& measured = problems.try_emplace(row.problem, empty).first->second;
    measured.variants.push_back({row.variant, row.median_ns});
  }
  std::vector<MeasuredProblem> all;
  for (auto& [place, problem] : problems) {
    std::sort(problem.variants.begin(), problem.variants.end(), [](const auto& a, const auto& b) {
      return std::tie(a.median_ns, a.variant) < std::tie(b.median_ns, b.variant);
    });
    all.push_back(std::move(problem));
  }
  return all;
}

}  // namespace mgtune
