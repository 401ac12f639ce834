#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "html/markup.h"
#include "html/sections.h"
#include "model/units.h"

namespace mgtune {
namespace {

using Align = HtmlTable::Align;

// More rows than this and even the only table starts closed: a page should open at once.
constexpr std::size_t kOpenRows = 200;

// A browser needs a third of a millisecond per row to lay a table out: 10,000 at once take seconds.
constexpr std::size_t kTableRows = 500;

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

void add_variant(HtmlTable& table, const ReportVariant& variant) {
  const OutcomeView& view = variant.view;
  const auto time_ns = median_ns(view);
  const auto& measurement = view.measurement;
  table.add_row(
      {variant_cell(variant), outcome_badge(view.outcome),
       time_ns ? time_cell(view.gpu, *time_ns) : "",
       variant.slowdown ? ratio_text(*variant.slowdown) : "", time_ns ? quartiles(view) : "",
       time_ns ? std::to_string(measurement->samples) : "",
       variant.bandwidth_gbps ? bandwidth_text(*variant.bandwidth_gbps) : "",
       time_ns ? escape(measurement->method) : "", view.check ? error_text(view.check->error) : "",
       count_cell(view.registers), count_cell(view.spill_bytes),
       count_cell(view.static_shared_bytes), measurement ? escape(measurement->note) : ""});
}

std::string caption(const OutcomeView& first) {
  std::string html =
      fmt::format("{} {} on {}", code(first.op), code(first.problem), device_name(first.gpu));
  if (first.check && first.check->tolerance > 0) {
    html += fmt::format("; errors up to {} pass", error_text(first.check->tolerance));
  }
  return html;
}

std::string table_of(std::span<const ReportVariant> variants, std::string caption_html) {
  HtmlTable table(std::move(caption_html),
                  {{"Variant"},
                   {"Status"},
                   {"Time", Align::right},
                   {"Of fastest", Align::right},
                   {"Quartiles", Align::right},
                   {"Samples", Align::right},
                   {"GB/s", Align::right},
                   {"Method"},
                   {"Error", Align::right},
                   {"Registers", Align::right},
                   {"Spill bytes", Align::right},
                   {"Shared bytes", Align::right},
                   {"Note"}},
                  HtmlTable::Height::tall);
  for (const ReportVariant& variant : variants) add_variant(table, variant);
  return table.html();
}

// The fastest kTableRows in sight, the others in further tables to unfold.
std::string tables_of(std::span<const ReportVariant> variants) {
  const std::string caption_html = caption(variants.front().view);
  if (variants.size() <= kTableRows) return table_of(variants, caption_html);
  std::string html;
  for (std::size_t first = 0; first < variants.size(); first += kTableRows) {
    const auto rows = variants.subspan(first, std::min(kTableRows, variants.size() - first));
    const std::string range = fmt::format("Variants {} to {}", first + 1, first + rows.size());
    const std::string table = table_of(rows, fmt::format("{}: {}", range, caption_html));
    html += first == 0
                ? table
                : fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", range, table);
  }
  return html;
}

std::string summary(std::span<const ReportVariant> variants) {
  const OutcomeView& first = variants.front().view;
  std::int64_t failed = 0;
  for (const ReportVariant& variant : variants) failed += is_failure(variant.view.outcome) ? 1 : 0;
  std::string html =
      fmt::format("{} {} on {}: {}", code(first.op), code(first.problem), device_name(first.gpu),
                  counted(static_cast<std::int64_t>(variants.size()), "variant"));
  if (failed > 0) html += fmt::format(", {} failed", failed);
  if (variants.front().slowdown) {
    html.append(", fastest ").append(time_cell(first.gpu, *median_ns(first)));
  }
  return html;
}

std::string problem_part(std::span<const ReportVariant> variants, bool open) {
  return fmt::format("<details{}>\n<summary>{}</summary>\n{}</details>\n", open ? " open" : "",
                     summary(variants), tables_of(variants));
}

}  // namespace

std::string variants_section(const ReportModel& model) {
  static constexpr std::string_view kTitle = "All variants";
  if (model.variants.empty()) {
    return section("variants", kTitle, empty_part("No variant has been evaluated yet."));
  }
  std::string html =
      "<p>Everything that was evaluated, by problem, the fastest first. <em>Of fastest</em> is the "
      "time over that of the problem's fastest variant by the same method; <em>raced_out</em> "
      "variants were stopped early because they were clearly slower. Errors are in the operator's "
      "measure, the worst over outputs and seeds.</p>\n";
  const bool open = model.problems.size() == 1 && model.variants.size() <= kOpenRows;
  const std::span<const ReportVariant> variants = model.variants;
  for (const ReportProblem& problem : model.problems) {
    if (problem.count == 0) continue;
    html += problem_part(variants.subspan(problem.first, problem.count), open);
  }
  return section("variants", kTitle, html);
}

}  // namespace mgtune
