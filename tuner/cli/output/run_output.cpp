#include "cli/output/run_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/variant_words.h"
#include "final/problem_metrics.h"
#include "json/json.h"
#include "text/printable.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

std::string value_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.7g}", value);  // no "-nan"
}

std::string outcome_line(Outcome outcome, const std::string& message) {
  return fmt::format("outcome  {}{}{}\n", to_string(outcome), message.empty() ? "" : ": ",
                     printable(message));
}

std::string outputs_text(const std::vector<OutputReport>& outputs) {
  using Align = TextTable::Align;
  TextTable table({{"output"},
                   {"error", Align::right},
                   {"tolerance", Align::right},
                   {"wrong elements", Align::right},
                   {"first"},
                   {"expected", Align::right},
                   {"got", Align::right}});
  for (const OutputReport& output : outputs) {
    const bool is_wrong = output.wrong > 0;
    table.add_row({output.tensor, error_text(output.error), error_text(output.tolerance),
                   fmt::format("{} of {}", output.wrong, output.compared), output.first,
                   is_wrong ? value_text(output.expected) : "",
                   is_wrong ? value_text(output.got) : ""});
  }
  return table.text();
}

// The metrics of the operator for the measured time, in the file's order. Empty if there is no
// time, or if the costs of the problem cannot be evaluated.
std::vector<std::pair<std::string, std::optional<double>>> metrics_of(const Problem& problem,
                                                                      const std::string& variant,
                                                                      const SingleRun& run) {
  std::vector<std::pair<std::string, std::optional<double>>> values;
  const Result<std::vector<Metric>> metrics = problem_metrics(problem);
  if (!run.time_ns || !metrics.ok()) return values;
  const VariantWords words = split_variant(variant);
  for (const Metric& metric : metrics.value()) {
    values.emplace_back(metric.name, metric.formula.evaluate(words, *run.time_ns));
  }
  return values;
}

}  // namespace

std::string run_announcement(const DeviceInfo& device, const Problem& problem,
                             const std::string& variant, const std::string& source) {
  return fmt::format("{} {} on {}: {} ({})\n", problem.op->full_name(), problem.text(), device.name,
                     variant, source);
}

std::string run_text(const Problem& problem, const std::string& variant, const SingleRun& run) {
  std::string text = outcome_line(run.outcome, run.message);
  if (!run.outputs.empty()) text += outputs_text(run.outputs);
  if (run.time_ns.has_value()) {
    text += fmt::format(
        "time     {}, the median of {} launches{}\n", time_text(*run.time_ns), run.launches_timed,
        run.method == "emulation"
            ? " (emulation: it says nothing about a GPU)"
            : fmt::format(" (method {}: the data may be in the caches)", run.method));
  }
  for (const auto& [name, value] : metrics_of(problem, variant, run)) {
    if (value) text += printable(fmt::format("{:<8} {}\n", name, metric_text(*value)));
  }
  return text;
}

std::string run_json(const std::string& device, const Problem& problem, const std::string& variant,
                     const SingleRun& run) {
  const auto output_json = [](const OutputReport& output) -> Json {
    const bool is_wrong = output.wrong > 0;
    return {{"tensor", output.tensor},
            {"error", output.error},
            {"tolerance", output.tolerance},
            {"compared", output.compared},
            {"wrong", output.wrong},
            {"first", is_wrong ? Json(output.first) : Json()},
            {"expected", is_wrong ? Json(output.expected) : Json()},
            {"got", is_wrong ? Json(output.got) : Json()}};
  };
  Json metrics = Json::object();
  for (const auto& [name, value] : metrics_of(problem, variant, run)) metrics[name] = Json(value);
  return Json({{"format", 1},
               {"device", device},
               {"operator", problem.op->full_name()},
               {"problem", problem.text()},
               {"variant", variant},
               {"outcome", to_string(run.outcome)},
               {"message", run.message},
               {"compiler_output", run.compiler_output},
               {"outputs", Json::array(run.outputs, output_json)},
               {"method", run.method.empty() ? Json() : Json(run.method)},
               {"time_ns", run.time_ns},
               {"launches_timed", run.launches_timed},
               {"metrics", std::move(metrics)}})
      .document_text();
}

std::string lost_run_text(const RunWorkerEnd& end) {
  return outcome_line(end.outcome, end.message);
}

ExitCode run_exit_code(Outcome outcome) {
  if (outcome == Outcome::ok) return ExitCode::ok;
  return outcome == Outcome::wrong ? ExitCode::gate_failed : ExitCode::partial;
}

}  // namespace mgtune
