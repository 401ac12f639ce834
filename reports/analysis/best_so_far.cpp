#include "analysis/best_so_far.h"

#include <algorithm>
#include <map>

namespace mgtune {
namespace {

// The problem's rows in the order of their evaluation.
std::vector<std::size_t> evaluated_rows(const ReportModel& model, const ReportProblem& problem) {
  std::vector<std::size_t> rows;
  for (std::size_t row = problem.first; row < problem.first + problem.count; ++row) {
    if (model.variants[row].order) rows.push_back(row);
  }
  std::ranges::sort(rows, {}, [&](std::size_t row) { return *model.variants[row].order; });
  return rows;
}

void add_row(const ReportVariant& variant, std::size_t row, BestSoFar& curve) {
  const double time_ns = *median_ns(variant.view);
  if (!curve.steps.empty() && curve.steps.back().best_ns <= time_ns) return;
  curve.steps.push_back({curve.evaluations, variant.seconds, time_ns, row});
}

}  // namespace

std::vector<BestSoFar> best_so_far(const ReportModel& model) {
  std::vector<BestSoFar> result;
  for (std::size_t p = 0; p < model.problems.size(); ++p) {
    const ReportProblem& problem = model.problems[p];
    std::map<std::string, BestSoFar> curves;
    for (std::size_t row = problem.first; row < problem.first + problem.count; ++row) {
      const ReportVariant& variant = model.variants[row];
      if (variant.slowdown) curves.try_emplace(variant.view.measurement->method);
    }
    const std::vector<std::size_t> rows = evaluated_rows(model, problem);
    for (auto& [method, curve] : curves) {
      curve.problem = p;
      curve.method = method;
      curve.order_known = !rows.empty();
      if (rows.empty()) curve.evaluations = static_cast<std::int64_t>(problem.count);
      for (const std::size_t row : rows) {
        const ReportVariant& variant = model.variants[row];
        const auto& measurement = variant.view.measurement;
        if (measurement && measurement->method != method) continue;  // timed for another curve
        ++curve.evaluations;
        curve.seconds = variant.seconds;
        const bool ranks = variant.view.outcome == Outcome::ok && median_ns(variant.view);
        if (ranks) add_row(variant, row, curve);
      }
      result.push_back(std::move(curve));
    }
  }
  return result;
}

}  // namespace mgtune
