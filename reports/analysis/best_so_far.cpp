#include "analysis/best_so_far.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

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

std::optional<double> seconds_of_utc(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  char zone = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf%c", &year, &month, &day, &hour, &minute,
                  &second, &zone) != 7 ||
      zone != 'Z') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + 3600.0 * hour + 60.0 * minute + second;
}

void add_evaluation_order(const std::vector<SweepView>& sweeps, ReportModel& model) {
  std::map<std::int64_t, std::optional<double>> starts;  // by the row id of the sweep
  for (const SweepView& view : sweeps) {
    starts[view.sweep.id] = seconds_of_utc(view.sweep.started_at);
  }
  std::vector<ReportVariant*> rows;
  for (ReportVariant& variant : model.variants) {
    if (!variant.imported) rows.push_back(&variant);
  }
  std::ranges::stable_sort(
      rows, {}, [](const ReportVariant* row) { return std::pair(row->view.sweep, row->view.id); });

  std::vector<std::int64_t> evaluations(model.problems.size(), 0);
  std::vector<std::optional<double>> spent(model.problems.size(), 0.0);
  std::int64_t sweep = 0;
  std::optional<double> before;
  for (ReportVariant* const row : rows) {
    row->order = evaluations[row->problem]++;
    if (row->view.sweep != sweep) before = starts[row->view.sweep];
    sweep = row->view.sweep;
    const std::optional<double> now = seconds_of_utc(row->view.recorded_at);
    std::optional<double>& total = spent[row->problem];
    // If one row has no time, the rows after it have none either, because no part of it can be
    // guessed.
    total = total && now && before ? std::optional(*total + std::max(0.0, *now - *before))
                                   : std::nullopt;
    if (total) row->seconds = std::round(*total * 1000) / 1000;
    before = now;
  }
}

}  // namespace mgtune
