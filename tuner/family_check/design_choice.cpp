#include "family_check/design_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "core/text.h"
#include "plan/problem_set.h"
#include "space/space.h"
#include "space/walk_limit.h"

namespace mgtune {
namespace {

constexpr std::int64_t kSmallDim = 128;
constexpr std::size_t kBuilds = 2;
constexpr int kProblemsOfBuild = 2;

Result<std::vector<Problem>> shrunk_problems(const Operator& op) {
  std::vector<ProblemValues> all = op.problems;
  for (ProblemValues& values : all) {
    for (const Dim& dim : op.dims) {
      const auto value = values.find(dim.name);
      if (dim.kind == DimKind::fixed || value == values.end()) continue;
      const auto number = whole_number(value->second);
      if (number && *number > kSmallDim) value->second = std::to_string(kSmallDim);
    }
  }
  ProblemRequest request;
  for (const ProblemValues& values : all) {
    std::string text;
    for (const auto& [name, value] : values) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
    }
    request.problems.push_back(std::move(text));
  }
  if (request.problems.empty()) return std::vector<Problem>();
  return make_problems({&op}, request, DeviceKind::cpu);
}

}  // namespace

std::optional<Variant> chosen_variant(const Problem& problem, int design,
                                      const DeviceLimits& limits) {
  const Space space(problem, limits, nullptr, Space::Bound::ignored);
  for (const Variant& variant : space.ladder()) {
    if (variant.design == design && space.admits(variant)) return variant;
  }
  std::optional<Variant> first;
  WalkLimit limit(kCountedNodes);
  space.for_each_of(
      static_cast<std::size_t>(design),
      [&first](const Variant& variant) {
        first = variant;
        return false;
      },
      limit);
  return first;
}

Result<std::vector<Problem>> small_problems(const Operator& op) {
  if (!op.emulation_problems.empty()) return make_problems({&op}, {}, DeviceKind::cpu);
  return shrunk_problems(op);
}

std::vector<ChosenRun> chosen_runs(const std::vector<Problem>& problems, int design,
                                   const DeviceLimits& limits) {
  std::vector<ChosenRun> chosen;
  std::map<std::string, int> runs_of_build;
  for (const Problem& problem : problems) {
    std::optional<Variant> variant = chosen_variant(problem, design, limits);
    if (!variant) continue;
    const std::string build = problem.binding().text() + ", " + variant_text(*problem.op, *variant);
    const auto known = runs_of_build.find(build);
    if (known == runs_of_build.end() && runs_of_build.size() == kBuilds) continue;
    if (known != runs_of_build.end() && known->second == kProblemsOfBuild) continue;
    ++runs_of_build[build];
    chosen.push_back({problem, *std::move(variant)});
  }
  return chosen;
}

}  // namespace mgtune
