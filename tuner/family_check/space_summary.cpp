#include "family_check/space_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "expression/expression.h"
#include "family_check/source_place.h"
#include "space/space.h"

namespace mgtune {
namespace {

// A constraint that reads build.* is tested when a build is loaded, so we cannot count here what it
// removes.
bool is_tested_by_space(const Expression& constraint) { return constraint.stage() != Stage::load; }

std::vector<PrunedByConstraint> constraints_of(const Operator& op, const Design& design) {
  std::vector<PrunedByConstraint> all;
  const auto add = [&](const std::vector<Expression>& expressions, const char* key,
                       const std::string& prefix) {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      if (!is_tested_by_space(expressions[i])) continue;
      all.push_back({prefix + expressions[i].text(),
                     place_with_line(op, fmt::format("/designs/{}/{}/{}", design.name, key, i)),
                     expressions[i].stage() == Stage::launch});
    }
  };
  add(design.requirements, "requires", "requires ");
  add(design.constraints, "constraints", "");
  return all;
}

// The numbers of the design over all problems together.
struct Total {
  std::uint64_t points = 0, admissible = 0;
  bool counted = true;
  std::map<std::string, std::uint64_t> pruned;
};

void warn(SpaceSummary& summary, const Total& total, std::size_t problems) {
  const std::string where =
      problems == 1 ? "the problem " + summary.problem : fmt::format("all {} problems", problems);
  summary.is_empty = total.admissible == 0 && total.counted && summary.unavailable.empty();
  if (summary.is_empty) {
    summary.warnings.push_back(
        fmt::format("no variant of {} fulfils the constraints, at {}", summary.design, where));
  }
  for (const PrunedByConstraint& constraint : summary.pruned) {
    const auto found = total.pruned.find(constraint.constraint);
    const std::uint64_t removed = found == total.pruned.end() ? 0 : found->second;
    const bool is_requirement = constraint.constraint.starts_with("requires ");
    if (removed == total.points && total.points > 0 && !is_requirement) {
      summary.warnings.push_back(fmt::format("{}: `{}` removes every variant, at {}",
                                             constraint.place, constraint.constraint, where));
    } else if (removed == 0 && total.counted && !summary.is_empty && summary.unavailable.empty() &&
               !is_requirement && !constraint.guards_dims) {
      summary.warnings.push_back(fmt::format("{}: `{}` removes nothing, at {}", constraint.place,
                                             constraint.constraint, where));
    }
  }
}

}  // namespace

std::vector<SpaceSummary> summarize_space(const Operator& op, const std::vector<Problem>& problems,
                                          const DeviceInfo& device) {
  std::vector<SpaceSummary> summaries(op.designs.size());
  std::vector<Total> totals(op.designs.size());
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const std::vector<DesignStatistics> statistics =
        Space(problems[p], device.limits).statistics(kCountedNodes / problems.size());
    for (std::size_t i = 0; i < statistics.size(); ++i) {
      const DesignStatistics& of = statistics[i];
      Total& total = totals[i];
      total.points += of.points;
      total.admissible += of.admissible;
      total.counted = total.counted && of.counted;
      for (const auto& [text, count] : of.pruned) total.pruned[text] += count;
      if (p > 0) continue;
      SpaceSummary& summary = summaries[i];
      summary.design = of.design;
      summary.problem = problems[p].text();
      summary.points = of.points;
      summary.admissible = of.admissible;
      summary.counted = of.counted;
      summary.unavailable = of.unavailable;
      summary.pruned = constraints_of(op, op.designs[i]);
      for (PrunedByConstraint& constraint : summary.pruned) {
        const auto found = of.pruned.find(constraint.constraint);
        if (found != of.pruned.end()) constraint.points = found->second;
      }
    }
  }
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    warn(summaries[i], totals[i], problems.size());
  }
  return summaries;
}

}  // namespace mgtune
