// The JSON of `mgtune show summary|importance|progress|sizes|counters|environment`.

#include "analysis/analysis.h"
#include "document/json_parts.h"
#include "document/report_json.h"
#include "model/missing_parts.h"

namespace mgtune {
namespace {

Json identity(const ReportProblem& problem, const std::string& method) {
  Json row = identity_json(problem.gpu, problem.op, problem.problem);
  row["method"] = method;
  return row;
}

Json effects_json(const ParameterColumn& column, const ParameterImportance& parameter) {
  Json effects = Json::array();
  for (const ValueEffect& effect : parameter.effects) {
    const std::string& value = column.values[static_cast<std::size_t>(effect.value)];
    effects.push_back(effect_json(value, effect, exact_number));
  }
  return effects;
}

}  // namespace

std::string summary_json(const ReportModel& model) {
  Json missing = Json::array();
  for (const MissingPart& part : missing_parts(model, analyze(model), true)) {
    missing.push_back({{"part", part.part}, {"text", part.text}, {"command", part.command}});
  }
  return rows_document("summary", {{"verdict", model.verdict}, {"missing", std::move(missing)}});
}

std::string importance_json(const ReportModel& model) {
  const ReportAnalysis analysis = analyze(model);
  Json rows = Json::array();
  for (const ProblemImportance& entry : analysis.importance) {
    const SpaceColumns& space = analysis.spaces[entry.problem];
    for (const DesignImportance& design : entry.importance.designs) {
      for (const ParameterImportance& parameter : design.parameters) {
        const ParameterColumn& column = space.parameters[parameter.parameter];
        Json row = identity(model.problems[entry.problem], entry.method);
        row["design"] = space.designs[design.design].name;
        row["parameter"] = column.name;
        row["variants"] = design.variants;
        row["main"] = parameter.main;
        row["total"] = parameter.total;
        row["effects"] = effects_json(column, parameter);
        rows.push_back(std::move(row));
      }
    }
  }
  return rows_document("importance", std::move(rows));
}

std::string progress_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const BestSoFar& curve : best_so_far(model)) {
    Json steps = Json::array();
    for (const BestStep& step : curve.steps) {
      steps.push_back(step_json(step, exact_number));
      steps.back()["variant"] = model.variants[step.row].view.variant;
    }
    Json row = identity(model.problems[curve.problem], curve.method);
    row["evaluations"] = curve.evaluations;
    row["seconds"] = curve.seconds;
    row["steps"] = std::move(steps);
    rows.push_back(std::move(row));
  }
  return rows_document("progress", std::move(rows));
}

std::string sizes_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const SizeSeries& series : size_series(model)) {
    Json points = Json::array(), fixed = Json::object();
    for (const auto& [name, value] : series.fixed) fixed[name] = value;
    for (const SizePoint& point : series.points) {
      const TunedRecord& tuned = model.picks[point.pick].view.tuned;
      points.push_back({{"size", point.size},
                        {"problem", model.picks[point.pick].view.problem},
                        {"median_ns", tuned.median_ns},
                        {"variant", tuned.variant}});
    }
    rows.push_back({{"gpu", series.gpu.model},
                    {"emulation", series.gpu.emulation},
                    {"operator", series.op},
                    {"method", series.method},
                    {"dim", series.dim},
                    {"fixed", std::move(fixed)},
                    {"points", std::move(points)},
                    {"boundaries", boundaries_json(series, exact_number)}});
  }
  return rows_document("sizes", std::move(rows));
}

std::string counters_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportVariant& variant : model.variants) {
    if (variant.counters.empty()) continue;
    const OutcomeView& view = variant.view;
    rows.push_back({{"gpu", view.gpu.model},
                    {"operator", view.op},
                    {"problem", view.problem},
                    {"variant", view.variant},
                    {"is_pick", variant.is_pick},
                    {"limit", variant.roofline.limit},
                    {"counters", counter_values(variant.counters)}});
  }
  return rows_document("counters", std::move(rows));
}

std::string environment_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const SweepView& view : model.sweeps) {
    Json row = {{"sweep", view.sweep.id}};
    row.update(record_json(view.sweep));
    row["finished_at"] = text_or_null(view.sweep.finished_at);
    row["gpu"] = view.gpu.model;
    row["emulation"] = view.gpu.emulation;
    row.update(record_json(view.environment));
    rows.push_back(std::move(row));
  }
  return rows_document("environment", std::move(rows));
}

}  // namespace mgtune
