// Problems with their variants as columns.

#include <bitset>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/variant_words.h"
#include "document/document_parts.h"
#include "model/metric_values.h"

namespace mgtune {
namespace {

// The bits of the column "flags". reports/web/src/report.ts has their names.
std::int64_t flags_of(const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  const bool is_throttled = view.measurement && view.measurement->clocks.throttled_samples > 0;
  std::bitset<7> flags;
  flags[0] = variant.is_pick;
  flags[1] = variant.is_default;
  flags[2] = variant.imported;
  flags[3] = variant.final.has_value();
  flags[4] = variant.final && variant.final->tied;
  flags[5] = is_throttled;
  flags[6] = is_ranked(view);
  return static_cast<std::int64_t>(flags.to_ulong());
}

// The value of a field in a column; null if it was not measured or not reported.
Json column_value(double value) { return known_time(value); }
Json column_value(int value) { return count_or_null(value); }
Json column_value(const auto& value) { return field_json(value); }

// Adds a column for each field that the page shows. `record_of` returns nullptr if a row has none.
template <HasFields Record>
void add_fields(Json& columns, std::span<const ReportVariant> rows,
                const Record* (*record_of)(const OutcomeView&)) {
  const Record none;
  std::vector<std::pair<std::string_view, Json::Array>> fields;
  for_each_column_in(kPage, none, [&](const auto& field, const auto&) {
    fields.emplace_back(field.name_in(kPage), Json::Array());
  });
  for (const ReportVariant& row : rows) {
    const Record* const record = record_of(row.view);
    auto column = fields.begin();
    for_each_column_in(
        kPage, record != nullptr ? *record : none, [&](const auto&, const auto& value) {
          column++->second.push_back(record != nullptr ? column_value(value) : Json());
        });
  }
  for (auto& [name, column] : fields) columns[name] = std::move(column);
}

const MeasurementRecord* timed_measurement(const OutcomeView& view) {
  return median_ns(view) ? &*view.measurement : nullptr;
}

const BuildResources* resources_of(const OutcomeView& view) { return &view; }

Json variants_json(const DocumentInput& input, const ReportProblem& problem,
                   const SpaceColumns& space) {
  const auto rows = input.model.variants_of(problem);
  Json columns = Json::object();
  const auto add = [&](const char* name, const auto& value_of) {
    columns[name] = Json::array(rows, value_of);
  };
  columns["design"] = space.design;
  add("outcome", [](const auto& row) { return static_cast<int>(row.view.outcome); });
  add("method", [&](const ReportVariant& row) {
    return median_ns(row.view) ? input.index.methods.index_of(row.view.measurement->method) : -1;
  });
  add_fields(columns, rows, timed_measurement);
  add_fields(columns, rows, resources_of);
  add("error",
      [](const auto& row) { return row.view.check ? number(row.view.check->error) : Json(); });
  add("message", [&](const auto& row) {
    return is_failure(row.view.outcome) ? input.index.messages.index_of(row.view.message) : -1;
  });
  add("log", [](const ReportVariant& row) -> Json {
    return row.compile_log ? Json(*row.compile_log) : Json(-1);
  });
  add("flags", flags_of);
  add("order", [](const auto& row) { return Json(row.order); });
  add("seconds", [](const auto& row) { return number(row.seconds); });
  add("sweep", [&](const auto& row) { return input.index.sweep(row.view.sweep); });
  return columns;
}

// The user's metrics as columns, beside those of the variants.
Json metric_columns(const ReportProblem& problem, std::span<const ReportVariant> rows) {
  Json metrics = Json::array();
  for (const std::string& name : problem.metrics) {
    metrics.push_back({{"name", name}, {"values", Json::array(rows, [&](const ReportVariant& row) {
                                          return number(metric_value(problem, row.metrics, name));
                                        })}});
  }
  return metrics;
}

Json designs_json(const SpaceColumns& space) {
  return Json::array(space.designs, [](const DesignColumns& design) -> Json {
    return {{"name", design.name}, {"parameters", design.parameters}};
  });
}

Json parameters_json(const SpaceColumns& space) {
  return Json::array(space.parameters, [](const ParameterColumn& column) -> Json {
    return {{"name", column.name},
            {"values", Json::array(column.values, Json::of_word)},
            {"index", column.index}};
  });
}

// The tolerance of all checks of a problem. It belongs to the operator and the dtypes.
Json tolerance(const DocumentInput& input, const ReportProblem& problem) {
  for (const ReportVariant& variant : input.model.variants_of(problem)) {
    const std::optional<CheckRecord>& check = variant.view.check;
    if (check && check->tolerance > 0) return number(check->tolerance);
  }
  return nullptr;
}

// The cpu device has nothing to profile.
std::string rerun_command(const DocumentInput& input, const ReportProblem& problem) {
  if (problem.gpu.emulation) return "";
  return profile_command(input, problem.gpu, problem.op, problem.problem);
}

}  // namespace

Json problems_part(const DocumentInput& input) {
  Json problems = Json::array();
  for (std::size_t p = 0; p < input.model.problems.size(); ++p) {
    const ReportProblem& problem = input.model.problems[p];
    const SpaceColumns& space = input.analysis.spaces[p];
    problems.push_back({{"gpu", input.index.gpu(problem.gpu)},
                        {"operator", problem.op},
                        {"problem", problem.problem},
                        {"values", values_json(problem.problem)},
                        {"bytes", number(problem.bytes)},
                        {"flops", number(problem.flops)},
                        {"tolerance", tolerance(input, problem)},
                        {"rerun", rerun_command(input, problem)},
                        {"first", problem.first},
                        {"count", problem.count},
                        {"designs", designs_json(space)},
                        {"parameters", parameters_json(space)},
                        {"variants", variants_json(input, problem, space)}});
    if (problem.metrics.empty()) continue;
    problems.back()["metrics"] = metric_columns(problem, input.model.variants_of(problem));
  }
  return problems;
}

}  // namespace mgtune
