#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "html/markup.h"
#include "html/sections.h"
#include "model/metric_values.h"
#include "text/units.h"

namespace mgtune {
namespace {

using HtmlAlign = HtmlTable::Align;

// The limit per problem. The page has all variants, and a browser needs a third of a millisecond
// per row of a static table.
constexpr std::size_t kShownRows = 20;

std::string outcome_badge(Outcome outcome) {
  const std::string_view kind = outcome == Outcome::ok ? "ok"
                                : is_failure(outcome)  ? "bad"
                                                       : "role";
  return badge(kind, to_string(outcome));
}

std::string variant_cell(const ReportVariant& variant) {
  std::string html = code(variant.view.variant);
  if (variant.is_pick) html.append(" ").append(badge("ok", "pick"));
  if (variant.is_default) html.append(" ").append(badge("role", "default"));
  return html;
}

std::string quartiles(const OutcomeView& view) {
  const MeasurementRecord& measurement = *view.measurement;
  return fmt::format("{} to {}", time_text(measurement.q1_ns),
                     time_cell(view.gpu, measurement.q3_ns));
}

std::string count_cell(int count) { return count >= 0 ? std::to_string(count) : ""; }

constexpr std::ptrdiff_t kMetricColumns = 7;  // behind GB/s

void add_variant(HtmlTable& table, const ReportProblem& problem, const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  const auto time_ns = median_ns(view);
  const auto& measurement = view.measurement;
  std::vector<std::string> cells = {
      variant_cell(variant),
      outcome_badge(view.outcome),
      time_ns ? time_cell(view.gpu, *time_ns) : "",
      variant.slowdown ? ratio_text(*variant.slowdown) : "",
      time_ns ? quartiles(view) : "",
      time_ns ? std::to_string(measurement->samples) : "",
      variant.bandwidth_gbps ? bandwidth_text(*variant.bandwidth_gbps) : "",
      time_ns ? escape(measurement->method) : "",
      view.check ? error_text(view.check->error) : "",
      count_cell(view.registers),
      count_cell(view.spill_bytes),
      count_cell(view.static_shared_bytes),
      measurement ? escape(measurement->note) : ""};
  std::ptrdiff_t place = kMetricColumns;
  for (const std::string& name : problem.metrics) {
    const std::optional<double> value = metric_value(problem, variant.metrics, name);
    cells.insert(cells.begin() + place++, value ? metric_text(*value) : "");
  }
  table.add_row(std::move(cells));
}

std::string caption(const OutcomeView& first) {
  std::string html =
      fmt::format("{} {} on {}", code(first.op), code(first.problem), device_name(first.gpu));
  if (first.check && first.check->tolerance > 0) {
    html += fmt::format("; errors up to {} pass", error_text(first.check->tolerance));
  }
  return html;
}

std::string table_of(const ReportProblem& problem, std::span<const ReportVariant> variants,
                     std::string caption_html) {
  std::vector<HtmlTable::Column> columns = {{"Variant"},
                                            {"Status"},
                                            {"Time", HtmlAlign::right},
                                            {"Of fastest", HtmlAlign::right},
                                            {"Quartiles", HtmlAlign::right},
                                            {"Samples", HtmlAlign::right},
                                            {"GB/s", HtmlAlign::right},
                                            {"Method"},
                                            {"Error", HtmlAlign::right},
                                            {"Registers", HtmlAlign::right},
                                            {"Spill bytes", HtmlAlign::right},
                                            {"Shared bytes", HtmlAlign::right},
                                            {"Note"}};
  std::ptrdiff_t place = kMetricColumns;
  for (const std::string& name : problem.metrics) {
    columns.insert(columns.begin() + place++, {name, HtmlAlign::right});
  }
  HtmlTable table(std::move(caption_html), std::move(columns));
  for (const ReportVariant& variant : variants) add_variant(table, problem, variant);
  return table.html();
}

std::string summary(std::span<const ReportVariant> variants) {
  const OutcomeView& first = variants.front().view;
  std::int64_t failed = 0;
  for (const ReportVariant& variant : variants) failed += is_failure(variant.view.outcome) ? 1 : 0;
  std::string html = fmt::format("{} {} on {}: {}", code(first.op), code(first.problem),
                                 device_name(first.gpu), counted(variants.size(), "variant"));
  if (failed > 0) html += fmt::format(", {} failed", failed);
  if (variants.front().slowdown) {
    html.append(", fastest ").append(time_cell(first.gpu, *median_ns(first)));
  }
  return html;
}

std::string problem_part(const ReportProblem& problem, std::span<const ReportVariant> variants) {
  const auto shown = variants.first(std::min(kShownRows, variants.size()));
  std::string html = fmt::format("<h3>{}</h3>\n{}", summary(variants),
                                 table_of(problem, shown, caption(variants.front().view)));
  if (shown.size() < variants.size()) {
    html += fmt::format("<p>{} more: <code>mgtune show variants</code></p>\n",
                        counted(variants.size() - shown.size(), "variant"));
  }
  return html;
}

}  // namespace

std::string variants_section(const ReportModel& model) {
  if (model.variants.empty()) return empty_part("No variant has been evaluated yet.");
  std::string html = fmt::format(
      "<p>The {} fastest of each problem; failures come last. <em>Of fastest</em> is the time over "
      "that of the problem's fastest variant by the same method; <em>raced_out</em> variants were "
      "stopped early because they were clearly slower. Errors are in the operator's measure, the "
      "worst over outputs and seeds.</p>\n",
      kShownRows);
  for (const ReportProblem& problem : model.problems) {
    if (problem.count > 0) html += problem_part(problem, model.variants_of(problem));
  }
  return html;
}

}  // namespace mgtune
