// Problems with their variants as columns.

#include <span>

#include "document/document_parts.h"

namespace mgtune {
namespace {

// Bits of the column "flags".
enum Flag : std::uint8_t {
  kPick = 1,
  kDefault = 2,
  kImported = 4,
  kFinalist = 8,
  kTied = 16,
  kThrottled = 32,
  kRanked = 64,
};

int flags_of(const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  int flags = 0;
  if (variant.is_pick) flags |= kPick;
  if (variant.is_default) flags |= kDefault;
  if (variant.imported) flags |= kImported;
  if (variant.final) flags |= kFinalist;
  if (variant.final && variant.final->tied) flags |= kTied;
  if (view.measurement && view.measurement->clocks.throttled_samples > 0) flags |= kThrottled;
  if (median_ns(view) && !is_failure(view.outcome)) flags |= kRanked;
  return flags;
}

Json time(const OutcomeView& view, double MeasurementRecord::*field) {
  if (!median_ns(view) || !((*view.measurement).*field > 0)) return nullptr;
  return number((*view.measurement).*field);
}

Json variants_json(const DocumentInput& input, const ReportProblem& problem,
                   const SpaceColumns& space) {
  const auto rows = std::span(input.model.variants).subspan(problem.first, problem.count);
  Json columns = Json::object();
  const auto add = [&](const char* name, const auto& value_of) {
    Json::Array column;
    column.reserve(rows.size());
    for (const ReportVariant& row : rows) column.push_back(value_of(row));
    columns[name] = std::move(column);
  };
  const auto add_time = [&](const char* name, double MeasurementRecord::*field) {
    add(name, [&](const ReportVariant& row) { return time(row.view, field); });
  };
  columns["design"] = space.design;
  add("outcome", [](const auto& row) { return static_cast<int>(row.view.outcome); });
  add("method", [&](const ReportVariant& row) {
    return median_ns(row.view) ? input.index.method(row.view.measurement->method) : -1;
  });
  add_time("median_ns", &MeasurementRecord::median_ns);
  add_time("low_ns", &MeasurementRecord::median_low_ns);
  add_time("high_ns", &MeasurementRecord::median_high_ns);
  add_time("q1_ns", &MeasurementRecord::q1_ns);
  add_time("q3_ns", &MeasurementRecord::q3_ns);
  add_time("min_ns", &MeasurementRecord::min_ns);
  add("samples", [](const ReportVariant& row) {
    return median_ns(row.view) ? Json(row.view.measurement->samples) : Json();
  });
  add("registers", [](const auto& row) { return count_or_null(row.view.registers); });
  add("spill_bytes", [](const auto& row) { return count_or_null(row.view.spill_bytes); });
  add("static_shared_bytes",
      [](const auto& row) { return count_or_null(row.view.static_shared_bytes); });
  add("error",
      [](const auto& row) { return row.view.check ? number(row.view.check->error) : Json(); });
  add("message", [&](const auto& row) {
    return is_failure(row.view.outcome) ? input.index.message(row.view.message) : -1;
  });
  add("flags", flags_of);
  add("order", [](const auto& row) { return Json(row.order); });
  add("seconds", [](const auto& row) { return number(row.seconds); });
  add("sweep", [&](const auto& row) { return input.index.sweep(row.view.sweep); });
  return columns;
}

Json designs_json(const SpaceColumns& space) {
  Json designs = Json::array();
  for (const DesignColumns& design : space.designs) {
    designs.push_back({{"name", design.name}, {"parameters", design.parameters}});
  }
  return designs;
}

Json parameters_json(const SpaceColumns& space) {
  Json parameters = Json::array();
  for (const ParameterColumn& column : space.parameters) {
    Json values = Json::array();
    for (const std::string& value : column.values) values.push_back(typed(value));
    parameters.push_back(
        {{"name", column.name}, {"values", std::move(values)}, {"index", column.index}});
  }
  return parameters;
}

// The tolerance of all checks of a problem. It belongs to the operator and the dtypes.
Json tolerance(const DocumentInput& input, const ReportProblem& problem) {
  for (std::size_t i = 0; i < problem.count; ++i) {
    const std::optional<CheckRecord>& check = input.model.variants[problem.first + i].view.check;
    if (check && check->tolerance > 0) return number(check->tolerance);
  }
  return nullptr;
}

// The cpu device has nothing to profile.
std::string rerun_command(const DocumentInput& input, const ReportProblem& problem) {
  if (problem.gpu.emulation) return "";
  return "mgtune profile " + place_words(input, problem.gpu, problem.op, problem.problem) +
         " --variant";
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
  }
  return problems;
}

}  // namespace mgtune
