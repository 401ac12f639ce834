#include "model/one_parameter_changes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace mgtune {
namespace {

// The pick's row beside the columns of its problem.
struct PickPlace {
  std::span<const ReportVariant> rows;
  const SpaceColumns& space;
  std::size_t row = 0;     // of the pick
  std::size_t design = 0;  // of the pick

  const std::vector<std::size_t>& parameters() const { return space.designs[design].parameters; }
  std::int32_t value(std::size_t parameter, std::size_t of) const {
    return space.parameters[parameter].index[of];
  }
  const std::string& word(std::size_t parameter, std::int32_t value) const {
    return space.parameters[parameter].values[static_cast<std::size_t>(value)];
  }
  bool has_design(std::size_t of) const {
    return space.design[of] == static_cast<std::int32_t>(design);
  }
  // The parameter in which the row alone differs from the pick.
  std::optional<std::size_t> only_change(std::size_t of) const {
    std::optional<std::size_t> only;
    for (const std::size_t parameter : parameters()) {
      if (value(parameter, of) == value(parameter, row)) continue;
      if (only) return std::nullopt;
      only = parameter;
    }
    return only;
  }
  // Parameter and row of each row that differs in one parameter, by parameter.
  std::vector<std::pair<std::size_t, std::size_t>> neighbours() const {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t of = 0; of < rows.size(); ++of) {
      const auto parameter = has_design(of) ? only_change(of) : std::nullopt;
      if (parameter) found.emplace_back(*parameter, of);
    }
    std::ranges::stable_sort(found, {}, [this](const auto& each) {
      return std::ranges::find(parameters(), each.first) - parameters().begin();
    });
    return found;
  }
};

std::optional<PickPlace> place_of(const ReportModel& model, const ReportAnalysis& analysis,
                                  const ReportPick& pick) {
  if (!pick.row) return std::nullopt;
  const ReportProblem& problem = model.problems[pick.problem];
  const SpaceColumns& space = analysis.spaces[pick.problem];
  const std::size_t row = *pick.row - problem.first;
  return PickPlace{model.variants_of(problem), space, row,
                   static_cast<std::size_t>(space.design[row])};
}

}  // namespace

double time_ratio(const ReportModel& model, const ReportPick& pick, std::size_t row) {
  if (!pick.row) return 0;
  if (pick.default_row == row && pick.speedup) return *pick.speedup;
  const ReportVariant &mine = model.variants[*pick.row], &other = model.variants[row];
  const std::string& method = pick.view.tuned.method;
  const auto time_of = [&](const ReportVariant& variant) -> double {
    if (!is_ranked(variant.view) || variant.view.measurement->method != method) return 0;
    return variant.final && mine.final && other.final ? variant.final->median_ns
                                                      : *median_ns(variant.view);
  };
  const double ours = time_of(mine), theirs = time_of(other);
  return ours > 0 && theirs > 0 ? theirs / ours : 0;
}

std::vector<OneParameterChange> one_parameter_changes(const ReportModel& model,
                                                      const ReportAnalysis& analysis,
                                                      const ReportPick& pick) {
  std::vector<OneParameterChange> changes;
  const std::optional<PickPlace> place = place_of(model, analysis, pick);
  if (!place) return changes;
  for (const auto& [parameter, row] : place->neighbours()) {
    const ReportVariant& other = place->rows[row];
    const double ratio = time_ratio(model, pick, model.problems[pick.problem].first + row);
    if (ratio <= 0) continue;
    changes.push_back({place->space.parameters[parameter].name,
                       place->word(parameter, place->value(parameter, row)),
                       place->word(parameter, place->value(parameter, place->row)), ratio,
                       other.view.outcome == Outcome::raced_out});
  }
  return changes;
}

std::vector<std::string> untried_changes(const ReportModel& model, const ReportAnalysis& analysis,
                                         const ReportPick& pick) {
  std::vector<std::string> untried;
  const std::optional<PickPlace> place = place_of(model, analysis, pick);
  if (!place) return untried;
  const auto neighbours = place->neighbours();
  for (const std::size_t parameter : place->parameters()) {
    std::set<std::int32_t> unseen;
    for (std::size_t row = 0; row < place->rows.size(); ++row) {
      if (place->has_design(row)) unseen.insert(place->value(parameter, row));
    }
    unseen.erase(place->value(parameter, place->row));
    for (const auto& [changed, row] : neighbours) {
      if (changed == parameter) unseen.erase(place->value(parameter, row));
    }
    for (const std::int32_t value : unseen) {
      untried.push_back(place->space.parameters[parameter].name + "=" +
                        place->word(parameter, value));
    }
  }
  return untried;
}

}  // namespace mgtune
