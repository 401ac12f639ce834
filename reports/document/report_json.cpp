#include "document/report_json.h"

#include <string_view>
#include <utility>

#include "analysis/analysis.h"
#include "document/json_parts.h"
#include "model/missing_parts.h"

namespace mgtune {
namespace {

std::string_view design_of(std::string_view variant) {
  return variant.substr(0, variant.find(' '));
}

Json roofline_json(const Roofline& roofline) {
  return {{"intensity", roofline.intensity},
          {"of_copy", roofline.of_copy},
          {"of_peak", roofline.of_peak},
          {"peak", roofline.peak},
          {"limit", roofline.limit}};
}

// The keys of the variant alone, appended to those that say on which problem it ran.
Json with_variant(Json row, const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  row["variant"] = view.variant;
  row["design"] = design_of(view.variant);
  row["parameters"] = values_json(view.variant);
  row["outcome"] = to_string(view.outcome);
  row["message"] = view.message;
  row["is_pick"] = variant.is_pick;
  row["is_default"] = variant.is_default;
  row["imported"] = variant.imported;
  row["slowdown"] = variant.slowdown;
  row["bandwidth_gbps"] = variant.bandwidth_gbps;
  row["registers"] = count_or_null(view.registers);
  row["spill_bytes"] = count_or_null(view.spill_bytes);
  row["static_shared_bytes"] = count_or_null(view.static_shared_bytes);
  row["build_sha256"] = view.build_sha256;
  row["sweep"] = view.sweep;
  row["check"] = view.check ? record_json(*view.check) : Json();
  row["measurement"] = view.measurement ? record_json(*view.measurement) : Json();
  row["final"] = variant.final ? record_json(*variant.final) : Json();
  row["roofline"] = roofline_json(variant.roofline);
  row["counters"] = counter_values(variant.counters);
  return row;
}

Json flat(const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  return with_variant(identity_json(view.gpu, view.op, view.problem), variant);
}

Json pick_json(const ReportPick& pick) {
  const TunedRecord& tuned = pick.view.tuned;
  Json row = identity_json(pick.view.gpu, pick.view.op, pick.view.problem);
  row["method"] = tuned.method;
  row["variant"] = tuned.variant;
  row["median_ns"] = tuned.median_ns;
  row["default_variant"] = tuned.default_variant;
  row["default_median_ns"] = tuned.default_median_ns > 0 ? Json(tuned.default_median_ns) : Json();
  row["standing"] = to_string(pick.standing);
  row["speedup"] = pick.speedup;
  row["bandwidth_gbps"] = pick.bandwidth_gbps;
  row["of_copy"] = pick.of_copy;
  row["noise_floor"] = pick.noise_floor;
  row["tied"] = pick.tied;
  row["limit"] = pick.roofline.limit;
  row["variants_ok"] = pick.variants_ok;
  row["variants_failed"] = pick.variants_failed;
  row["imported"] = pick.imported;
  row["build_sha256"] = tuned.build_sha256;
  row["sweep"] = tuned.sweep;
  return row;
}

Json final_json(const FinalView& view) {
  Json row = identity_json(view.gpu, view.op, view.problem);
  row["method"] = view.final.method;
  row["noise_floor"] = view.final.noise_floor;
  row["note"] = view.final.note;
  row["not_counted"] = view.final.not_counted;
  row["clocks"] = record_json(view.final.clocks);
  row["sweep"] = view.final.sweep;
  Json finalists = Json::array();
  for (const FinalistRecord& finalist : view.final.finalists) {
    Json entry = {{"variant", finalist.variant}};
    entry.update(record_json(finalist));
    entry["build_sha256"] = finalist.build_sha256;
    entry["samples_ns"] = finalist.samples_ns;
    finalists.push_back(std::move(entry));
  }
  row["finalists"] = std::move(finalists);
  return row;
}

Json finals_array(const ReportModel& model) {
  Json rows = Json::array();
  for (const FinalView& view : model.finals) rows.push_back(final_json(view));
  return rows;
}

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

Json picks_rows(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportPick& pick : model.picks) rows.push_back(pick_json(pick));
  return rows;
}

std::string picks_json(const ReportModel& model) {
  return rows_document("picks", picks_rows(model));
}

std::string variants_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportVariant& variant : model.variants) rows.push_back(flat(variant));
  return rows_document("variants", std::move(rows));
}

std::string finals_json(const ReportModel& model) {
  return rows_document("finals", finals_array(model));
}

std::string limits_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportPick& pick : model.picks) {
    Json row = identity_json(pick.view.gpu, pick.view.op, pick.view.problem);
    row["method"] = pick.view.tuned.method;
    row["variant"] = pick.view.tuned.variant;
    row["median_ns"] = pick.view.tuned.median_ns;
    row["roofline"] = roofline_json(pick.roofline);
    rows.push_back(std::move(row));
  }
  return rows_document("limits", std::move(rows));
}

std::string failures_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportFailure& failure : model.failures) {
    for (const std::size_t index : failure.variants) rows.push_back(flat(model.variants[index]));
  }
  return rows_document("failures", std::move(rows));
}

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
