#include "model/metric_values.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/variant_words.h"
#include "expression/metric_formula.h"

namespace mgtune {
namespace {

using Formulas = std::vector<Result<MetricFormula>>;  // in the order of the problem's metrics

std::vector<std::optional<double>> values_of(const Formulas& formulas, const std::string& variant,
                                             double time_ns) {
  const VariantWords words = split_variant(variant);
  std::vector<std::optional<double>> values;
  for (const Result<MetricFormula>& formula : formulas) {
    values.push_back(formula.ok() ? formula.value().evaluate(words, time_ns) : std::nullopt);
  }
  return values;
}

}  // namespace

void add_metrics(std::span<const MetricsView> metrics, ReportModel& model) {
  if (metrics.empty()) return;
  std::map<std::pair<std::string, std::string>, const MetricsView*> by_problem;
  for (const MetricsView& view : metrics) by_problem[{view.op, view.problem}] = &view;
  std::vector<Formulas> formulas(model.problems.size());
  for (std::size_t p = 0; p < model.problems.size(); ++p) {
    ReportProblem& problem = model.problems[p];
    const auto found = by_problem.find({problem.op, problem.problem});
    if (found == by_problem.end()) continue;
    for (const MetricRecord& metric : found->second->metrics) {
      problem.metrics.push_back(metric.name);
      formulas[p].push_back(MetricFormula::parse(metric.formula));
    }
  }
  for (ReportVariant& variant : model.variants) {
    const auto time_ns = median_ns(variant.view);
    if (!time_ns) continue;
    variant.metrics = values_of(formulas[variant.problem], variant.view.variant, *time_ns);
  }
  for (ReportPick& pick : model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    if (tuned.median_ns <= 0) continue;
    pick.metrics = values_of(formulas[pick.problem], tuned.variant, tuned.median_ns);
  }
}

std::vector<std::string> metric_names(const ReportModel& model,
                                      std::span<const std::size_t> problems) {
  std::vector<std::string> names;
  for (const std::size_t problem : problems) {
    for (const std::string& name : model.problems[problem].metrics) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::optional<double> metric_value(const ReportProblem& problem,
                                   std::span<const std::optional<double>> values,
                                   std::string_view name) {
  const auto place = std::ranges::find(problem.metrics, name);
  const auto index = static_cast<std::size_t>(place - problem.metrics.begin());
  return index < values.size() ? values[index] : std::nullopt;
}

}  // namespace mgtune
