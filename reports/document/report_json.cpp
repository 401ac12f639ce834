#include "document/report_json.h"

#include <string_view>
#include <utility>

#include "analysis/analysis.h"
#include "analysis/failure_causes.h"
#include "document/json_parts.h"
#include "model/missing_parts.h"

namespace mgtune {
namespace {

// {"format": 1, NAME: ROWS}, indented, and a newline at the end.
std::string rows_document(std::string_view name, Json rows) {
  return Json({{"format", 1}, {std::string(name), std::move(rows)}}).document_text();
}

Json identity_json(const GpuRecord& gpu, const std::string& op, const std::string& problem) {
  return {{"gpu", gpu.model}, {"emulation", gpu.emulation}, {"operator", op}, {"problem", problem}};
}

// {"dram_read_bytes": 4096}
Json counter_values(const std::vector<CounterRecord>& counters) {
  Json values = Json::object();
  for (const CounterRecord& counter : counters) values[counter.name] = counter.value;
  return values;
}

Json roofline_json(const Roofline& roofline) {
  return {{"intensity", roofline.intensity},
          {"of_copy", roofline.of_copy},
          {"of_peak", roofline.of_peak},
          {"peak", roofline.peak},
          {"limit", roofline.limit}};
}

// {"GFLOP/s": 812.4}; null where the variant has none of a metric's parameters.
Json metrics_json(const ReportModel& model, std::size_t problem,
                  const std::vector<std::optional<double>>& values) {
  Json metrics = Json::object();
  const std::vector<std::string>& names = model.problems[problem].metrics;
  for (std::size_t i = 0; i < values.size(); ++i) metrics[names[i]] = Json(values[i]);
  return metrics;
}

Json variant_json(const ReportModel& model, const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  Json row = identity_json(view.gpu, view.op, view.problem);
  row["variant"] = view.variant;
  row["design"] = view.variant.substr(0, view.variant.find(' '));
  row["parameters"] = values_json(view.variant);
  row["outcome"] = to_string(view.outcome);
  row["message"] = view.message;
  row["is_pick"] = variant.is_pick;
  row["is_default"] = variant.is_default;
  row["imported"] = variant.imported;
  row["slowdown"] = variant.slowdown;
  row["bandwidth_gbps"] = variant.bandwidth_gbps;
  row["metrics"] = metrics_json(model, variant.problem, variant.metrics);
  row["registers"] = count_or_null(view.registers);
  row["spill_bytes"] = count_or_null(view.spill_bytes);
  row["static_shared_bytes"] = count_or_null(view.static_shared_bytes);
  row["code_bytes"] = count_or_null(view.code_bytes);
  row["ptx_bytes"] = count_or_null(view.ptx_bytes);
  row["compile_log"] =
      variant.compile_log ? Json(model.compile_logs[*variant.compile_log]) : Json();
  row["build_sha256"] = view.build_sha256;
  row["sweep"] = view.sweep;
  row["check"] = view.check ? record_json(*view.check) : Json();
  row["measurement"] = view.measurement ? record_json(*view.measurement) : Json();
  row["final"] = variant.final ? record_json(*variant.final) : Json();
  row["roofline"] = roofline_json(variant.roofline);
  row["counters"] = counter_values(variant.counters);
  return row;
}

// A peer of the pick, with its time divided by the pick's.
Json peer_row(const ReportPick& pick, const PeerRecord& peer) {
  Json row = record_json(peer);
  row["ratio"] = peer.median_ns / pick.view.tuned.median_ns;
  return row;
}

Json pick_row(const ReportModel& model, const ReportPick& pick) {
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
  row["metrics"] = metrics_json(model, pick.problem, pick.metrics);
  row["noise_floor"] = pick.noise_floor;
  row["tied"] = pick.tied;
  row["limit"] = pick.roofline.limit;
  row["variants_ok"] = pick.variants_ok;
  row["variants_failed"] = pick.variants_failed;
  row["imported"] = pick.imported;
  row["build_sha256"] = tuned.build_sha256;
  row["sweep"] = tuned.sweep;
  row["peers"] =
      Json::array(pick.peers, [&](const PeerRecord& peer) { return peer_row(pick, peer); });
  return row;
}

Json finalist_row(const FinalistRecord& finalist) {
  Json row = {{"variant", finalist.variant}};
  row.update(record_json(finalist));
  row["build_sha256"] = finalist.build_sha256;
  row["samples_ns"] = finalist.samples_ns;
  return row;
}

Json final_json(const ReportFinal& shown) {
  const FinalView& view = shown.view;
  Json row = identity_json(view.gpu, view.op, view.problem);
  row["method"] = view.final.method;
  row["noise_floor"] = view.final.noise_floor;
  row["note"] = view.final.note;
  row["not_counted"] = view.final.not_counted;
  row["clocks"] = record_json(view.final.clocks);
  row["sweep"] = view.final.sweep;
  row["finalists"] = Json::array(view.final.finalists, finalist_row);
  return row;
}

Json identity(const ReportProblem& problem, const std::string& method) {
  Json row = identity_json(problem.gpu, problem.op, problem.problem);
  row["method"] = method;
  return row;
}

Json effects_json(const ParameterColumn& column, const ParameterImportance& parameter) {
  return Json::array(parameter.effects, [&](const ValueEffect& effect) {
    const std::string& value = column.values[static_cast<std::size_t>(effect.value)];
    return effect_json(value, effect, exact_number);
  });
}

}  // namespace

Json picks_rows(const ReportModel& model) {
  return Json::array(model.picks, [&](const ReportPick& pick) { return pick_row(model, pick); });
}

std::string picks_json(const ReportModel& model) {
  return rows_document("picks", picks_rows(model));
}

std::string variants_json(const ReportModel& model) {
  return rows_document("variants", Json::array(model.variants, [&](const ReportVariant& variant) {
                         return variant_json(model, variant);
                       }));
}

std::string finals_json(const ReportModel& model) {
  return rows_document("finals", Json::array(model.finals, final_json));
}

std::string limits_json(const ReportModel& model) {
  const auto limit = [](const ReportPick& pick) {
    Json row = identity_json(pick.view.gpu, pick.view.op, pick.view.problem);
    row["method"] = pick.view.tuned.method;
    row["variant"] = pick.view.tuned.variant;
    row["median_ns"] = pick.view.tuned.median_ns;
    row["roofline"] = roofline_json(pick.roofline);
    return row;
  };
  return rows_document("limits", Json::array(model.picks, limit));
}

std::string failures_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportFailure& failure : model.failures) {
    for (const std::size_t row : failure.variants) {
      rows.push_back(variant_json(model, model.variants[row]));
    }
  }
  return Json({{"format", 1}, {"failures", std::move(rows)}, {"causes", causes_rows(model)}})
      .document_text();
}

Json causes_rows(const ReportModel& model) {
  const auto share_json = [](const ValueShare& share) -> Json {
    return {{"name", share.value.first},
            {"value", Json::of_word(share.value.second)},
            {"failed", share.failed},
            {"all", share.all}};
  };
  return Json::array(failure_causes(model), [&](const FailureCause& cause) -> Json {
    const OutcomeView& first = model.variants[cause.variants.front()].view;
    Json conditions = Json::object();
    for (const auto& [name, value] : cause.conditions) conditions[name] = Json::of_word(value);
    return {{"gpu", first.gpu.model},
            {"operator", first.op},
            {"outcome", to_string(cause.outcome)},
            {"message", cause.message},
            {"variants", cause.variants.size()},
            {"conditions", std::move(conditions)},
            {"matching", cause.matching},
            {"shares", Json::array(cause.shares, share_json)},
            {"example", {{"problem", first.problem}, {"variant", first.variant}}}};
  });
}

std::string summary_json(const ReportModel& model) {
  const auto missing = [](const MissingPart& part) -> Json {
    return {{"part", part.part}, {"text", part.text}, {"command", part.command}};
  };
  const std::vector<MissingPart> parts = missing_parts(model, analyze(model), true);
  return rows_document("summary",
                       {{"verdict", model.verdict}, {"missing", Json::array(parts, missing)}});
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
  const auto step_row = [&](const BestStep& step) {
    Json row = step_json(step, exact_number);
    row["variant"] = model.variants[step.row].view.variant;
    return row;
  };
  const auto curve_row = [&](const BestSoFar& curve) {
    Json row = identity(model.problems[curve.problem], curve.method);
    row["evaluations"] = curve.evaluations;
    row["seconds"] = curve.seconds;
    row["steps"] = Json::array(curve.steps, step_row);
    return row;
  };
  return rows_document("progress", Json::array(best_so_far(model), curve_row));
}

std::string sizes_json(const ReportModel& model) {
  const auto point_row = [&](const SizePoint& point) -> Json {
    const TunedView& view = model.picks[point.pick].view;
    return {{"size", point.size},
            {"problem", view.problem},
            {"median_ns", view.tuned.median_ns},
            {"variant", view.tuned.variant}};
  };
  const auto series_row = [&](const SizeSeries& series) -> Json {
    Json fixed = Json::object();
    for (const auto& [name, value] : series.fixed) fixed[name] = value;
    return {{"gpu", series.gpu.model},
            {"emulation", series.gpu.emulation},
            {"operator", series.op},
            {"method", series.method},
            {"dim", series.dim},
            {"fixed", std::move(fixed)},
            {"points", Json::array(series.points, point_row)},
            {"boundaries", boundaries_json(series, exact_number)}};
  };
  return rows_document("sizes", Json::array(size_series(model), series_row));
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
  const auto sweep_row = [](const SweepView& view) {
    Json row = {{"sweep", view.sweep.id}};
    row.update(record_json(view.sweep));
    row["finished_at"] = text_or_null(view.sweep.finished_at);
    row["gpu"] = view.gpu.model;
    row["emulation"] = view.gpu.emulation;
    row.update(record_json(view.environment));
    return row;
  };
  return rows_document("environment", Json::array(model.sweeps, sweep_row));
}

}  // namespace mgtune
