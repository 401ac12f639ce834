#include "model/report_json.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "model/assignments.h"

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json count_or_null(int value) { return value >= 0 ? Json(value) : Json(); }

// "row VEC=8 ROWS=1" -> {"VEC": 8, "ROWS": 1}: numbers and booleans as the operator's file had
// them.
Json values_json(std::string_view text) {
  Json values = Json::object();
  for (const auto& [name, word] : assignments(text)) {
    const std::optional<std::int64_t> number = whole_number(word);
    Json& value = values[std::string(name)];
    if (number) {
      value = *number;
    } else if (word == "true" || word == "false") {
      value = word == "true";
    } else {
      value = word;
    }
  }
  return values;
}

std::string_view design_of(std::string_view variant) {
  return variant.substr(0, variant.find(' '));
}

Json identity(const GpuRecord& gpu, const std::string& op, const std::string& problem) {
  return {{"gpu", gpu.model}, {"emulation", gpu.emulation}, {"operator", op}, {"problem", problem}};
}

Json check_json(const CheckRecord& check) {
  return {{"outcome", to_string(check.outcome)},
          {"error", check.error},
          {"tolerance", check.tolerance},
          {"message", check.message}};
}

Json clocks_json(const ClockRecord& clocks) {
  return {{"sm_mhz", clocks.sm_mhz},
          {"memory_mhz", clocks.memory_mhz},
          {"power_w", clocks.power_w},
          {"temperature_c", clocks.temperature_c},
          {"throttle_reasons", clocks.throttle_reasons},
          {"throttled_samples", clocks.throttled_samples}};
}

// Without its samples, which are part of the final.
Json finalist_json(const FinalistRecord& finalist) {
  return {{"median_ns", finalist.median_ns},
          {"median_low_ns", finalist.median_low_ns},
          {"median_high_ns", finalist.median_high_ns},
          {"ratio", finalist.ratio},
          {"ratio_low", finalist.ratio_low},
          {"ratio_high", finalist.ratio_high},
          {"tied", finalist.tied}};
}

Json roofline_json(const Roofline& roofline) {
  return {{"intensity", or_null(roofline.intensity)},
          {"of_copy", or_null(roofline.of_copy)},
          {"of_peak", or_null(roofline.of_peak)},
          {"peak", roofline.peak},
          {"limit", roofline.limit}};
}

Json counters_json(const std::vector<CounterRecord>& counters) {
  Json json = Json::object();
  for (const CounterRecord& counter : counters) json[counter.name] = counter.value;
  return json;
}

Json measurement_json(const MeasurementRecord& measurement) {
  return {{"outcome", to_string(measurement.outcome)},
          {"method", measurement.method},
          {"median_ns", measurement.median_ns},
          {"q1_ns", measurement.q1_ns},
          {"q3_ns", measurement.q3_ns},
          {"min_ns", measurement.min_ns},
          {"samples", measurement.samples},
          {"median_low_ns", measurement.median_low_ns},
          {"median_high_ns", measurement.median_high_ns},
          {"clocks", clocks_json(measurement.clocks)},
          {"note", measurement.note},
          {"message", measurement.message}};
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
  row["slowdown"] = or_null(variant.slowdown);
  row["bandwidth_gbps"] = or_null(variant.bandwidth_gbps);
  row["registers"] = count_or_null(view.registers);
  row["spill_bytes"] = count_or_null(view.spill_bytes);
  row["static_shared_bytes"] = count_or_null(view.static_shared_bytes);
  row["build_sha256"] = view.build_sha256;
  row["sweep"] = view.sweep;
  row["check"] = view.check ? check_json(*view.check) : Json();
  row["measurement"] = view.measurement ? measurement_json(*view.measurement) : Json();
  row["final"] = variant.final ? finalist_json(*variant.final) : Json();
  row["roofline"] = roofline_json(variant.roofline);
  row["counters"] = counters_json(variant.counters);
  return row;
}

Json flat(const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  return with_variant(identity(view.gpu, view.op, view.problem), variant);
}

Json pick_json(const ReportPick& pick) {
  const TunedRecord& tuned = pick.view.tuned;
  Json row = identity(pick.view.gpu, pick.view.op, pick.view.problem);
  row["method"] = tuned.method;
  row["variant"] = tuned.variant;
  row["median_ns"] = tuned.median_ns;
  row["default_variant"] = tuned.default_variant;
  row["default_median_ns"] = tuned.default_median_ns > 0 ? Json(tuned.default_median_ns) : Json();
  row["standing"] = to_string(pick.standing);
  row["speedup"] = or_null(pick.speedup);
  row["bandwidth_gbps"] = or_null(pick.bandwidth_gbps);
  row["of_copy"] = or_null(pick.of_copy);
  row["noise_floor"] = or_null(pick.noise_floor);
  row["tied"] = pick.tied;
  row["limit"] = pick.roofline.limit;
  row["variants_ok"] = pick.variants_ok;
  row["variants_failed"] = pick.variants_failed;
  row["imported"] = pick.imported;
  row["build_sha256"] = tuned.build_sha256;
  row["sweep"] = tuned.sweep;
  return row;
}

Json picks_array(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportPick& pick : model.picks) rows.push_back(pick_json(pick));
  return rows;
}

Json final_json(const FinalView& view) {
  Json row = identity(view.gpu, view.op, view.problem);
  row["method"] = view.final.method;
  row["noise_floor"] = view.final.noise_floor;
  row["note"] = view.final.note;
  row["not_counted"] = view.final.not_counted;
  row["clocks"] = clocks_json(view.final.clocks);
  row["sweep"] = view.final.sweep;
  Json finalists = Json::array();
  for (const FinalistRecord& finalist : view.final.finalists) {
    Json entry = {{"variant", finalist.variant}};
    entry.update(finalist_json(finalist));
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

}  // namespace

std::string picks_json(const ReportModel& model) {
  return dump({{"format", kFormat}, {"picks", picks_array(model)}}, 2) + '\n';
}

std::string variants_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportVariant& variant : model.variants) rows.push_back(flat(variant));
  return dump({{"format", kFormat}, {"variants", std::move(rows)}}, 2) + '\n';
}

std::string finals_json(const ReportModel& model) {
  return dump({{"format", kFormat}, {"finals", finals_array(model)}}, 2) + '\n';
}

std::string limits_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportPick& pick : model.picks) {
    Json row = identity(pick.view.gpu, pick.view.op, pick.view.problem);
    row["method"] = pick.view.tuned.method;
    row["variant"] = pick.view.tuned.variant;
    row["median_ns"] = pick.view.tuned.median_ns;
    row["roofline"] = roofline_json(pick.roofline);
    rows.push_back(std::move(row));
  }
  return dump({{"format", kFormat}, {"limits", std::move(rows)}}, 2) + '\n';
}

std::string failures_json(const ReportModel& model) {
  Json rows = Json::array();
  for (const ReportFailure& failure : model.failures) {
    for (const std::size_t index : failure.variants) rows.push_back(flat(model.variants[index]));
  }
  return dump({{"format", kFormat}, {"failures", std::move(rows)}}, 2) + '\n';
}

}  // namespace mgtune
