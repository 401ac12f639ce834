// Comma-separated values: a header, then one row a variant and method, with everything that is
// known of it; empty where nothing is. Quoting is RFC 4180's, lines end in a newline. Units are in
// the names of the columns. Only written.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "exchange/formats.h"

namespace mgtune {
namespace {

using Cells = std::vector<std::string>;

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

std::string line(const Cells& cells) {
  std::string text;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) text += ',';
    text += quoted(cell);
  }
  return text + '\n';
}

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
// 0 where it was not measured.
std::string measured(double value) { return value > 0 ? number(value) : ""; }
std::string reported(int value) { return value >= 0 ? std::to_string(value) : ""; }

// A group of columns: their names, and their cells in a row.
struct Columns {
  Cells (*cells)(const RecordedOutcome&);
  std::vector<std::string_view> names;
};

Cells subject(const RecordedOutcome& row) {
  const OutcomeView& view = row.view;
  return {view.gpu.model,
          view.gpu.arch,
          view.gpu.mig_profile,
          view.gpu.emulation ? "true" : "false",
          view.op,
          view.problem,
          split_variant(view.variant).design};
}

Cells times(const RecordedOutcome& row) {
  const MeasurementRecord m = row.view.measurement.value_or(MeasurementRecord{});
  return {m.method,
          measured(m.median_ns),
          measured(m.median_low_ns),
          measured(m.median_high_ns),
          measured(m.q1_ns),
          measured(m.q3_ns),
          measured(m.min_ns),
          m.samples > 0 ? std::to_string(m.samples) : "",
          measured(m.clocks.sm_mhz),
          measured(m.clocks.memory_mhz),
          measured(m.clocks.power_w),
          measured(m.clocks.temperature_c),
          m.clocks.throttle_reasons};
}

Cells build(const RecordedOutcome& row) {
  const OutcomeView& view = row.view;
  return {reported(view.registers), reported(view.spill_bytes), reported(view.static_shared_bytes),
          view.check ? number(view.check->error) : "",
          view.check ? number(view.check->tolerance) : ""};
}

Cells words(const RecordedOutcome& row) {
  const OutcomeView& view = row.view;
  return {view.measurement ? view.measurement->note : "",
          view.message,
          view.build_sha256,
          row.origin.measured_at,
          row.origin.environment.mgtune_version,
          row.origin.environment.compiler,
          row.origin.environment.driver,
          row.origin.environment.system};
}

Cells outcome(const RecordedOutcome& row) { return {std::string(to_string(row.view.outcome))}; }

const Columns& subject_columns() {
  static const Columns columns = {
      subject, {"gpu", "arch", "mig_profile", "emulation", "operator", "problem", "design"}};
  return columns;
}

// Behind the parameters.
const std::array<Columns, 4>& result_columns() {
  static const std::array<Columns, 4> columns = {
      {{outcome, {"outcome"}},
       {times,
        {"method", "median_ns", "median_low_ns", "median_high_ns", "q1_ns", "q3_ns", "min_ns",
         "samples", "sm_mhz", "memory_mhz", "power_w", "temperature_c", "throttle_reasons"}},
       {build, {"registers", "spill_bytes", "static_shared_bytes", "check_error", "tolerance"}},
       {words,
        {"note", "message", "build_sha256", "measured_at", "mgtune_version", "compiler", "driver",
         "system"}}}};
  return columns;
}

// Of all rows, in the order in which they occur.
Cells parameters_of(const std::vector<RecordedOutcome>& rows) {
  Cells names;
  for (const RecordedOutcome& row : rows) {
    for (const auto& [name, value] : split_variant(row.view.variant).parameters) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void append(Cells& to, Cells cells) { std::ranges::move(cells, std::back_inserter(to)); }

std::string header(const Cells& parameters) {
  Cells names(subject_columns().names.begin(), subject_columns().names.end());
  Cells behind;
  for (const Columns& columns : result_columns()) {
    append(behind, Cells(columns.names.begin(), columns.names.end()));
  }
  for (const std::string& parameter : parameters) {
    const bool is_taken = std::ranges::find(names, parameter) != names.end() ||
                          std::ranges::find(behind, parameter) != behind.end();
    names.push_back((is_taken ? "parameter_" : "") + parameter);
  }
  append(names, std::move(behind));
  return line(names);
}

std::string row_text(const Cells& parameters, const RecordedOutcome& row) {
  Cells cells = subject_columns().cells(row);
  const VariantWords variant = split_variant(row.view.variant);
  for (const std::string& parameter : parameters) {
    const std::string* value = variant.find(parameter);
    cells.push_back(value != nullptr ? *value : "");
  }
  for (const Columns& columns : result_columns()) append(cells, columns.cells(row));
  return line(cells);
}

Result<std::vector<Document>> write(const ExchangedResults& results,
                                    ExchangeFormat::Layout /*layout*/) {
  if (results.outcomes.empty()) return std::vector<Document>();
  const Cells parameters = parameters_of(results.outcomes);
  std::string text = header(parameters);
  for (const RecordedOutcome& row : results.outcomes) text += row_text(parameters, row);
  return std::vector<Document>{{"variants.csv", std::move(text)}};
}

}  // namespace

ExchangeFormat csv_format() {
  return {"csv", "every variant as a row, for spreadsheets and notebooks", write};
}

}  // namespace mgtune
