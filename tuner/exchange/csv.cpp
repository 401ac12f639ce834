// Comma-separated values: a header, then one row per variant and method with everything that is
// known about it. A cell is empty if its value is unknown. Quoting follows RFC 4180, and lines end
// in a newline. The units are in the names of the columns. The format is only written.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "exchange/formats.h"

namespace mgtune {
namespace {

using Cells = std::vector<std::string>;

struct Column {
  std::string_view name;
  std::string cell;
};
using Columns = std::vector<Column>;

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

// 0 means that a number was not measured, unless `zero_is_known`. -1 means that it was not
// reported.
std::string cell(double value, bool zero_is_known) {
  return std::isfinite(value) && (zero_is_known || value > 0) ? fmt::format("{}", value) : "";
}
std::string cell(std::int64_t value, bool /*zero_is_known*/) {
  return value > 0 ? std::to_string(value) : "";
}
std::string cell(int value, bool /*zero_is_known*/) {
  return value >= 0 ? std::to_string(value) : "";
}
std::string cell(const std::string& value, bool /*zero_is_known*/) { return value; }
std::string cell(Outcome value, bool /*zero_is_known*/) { return std::string(to_string(value)); }

template <HasFields Record>
void add_fields(Columns& columns, const std::optional<Record>& record, bool zero_is_known = false) {
  const Record fields = record.value_or(Record{});
  for_each_column_in(kCsv, fields, [&](const auto& field, const auto& value) {
    columns.push_back({field.name_in(kCsv), record ? cell(value, zero_is_known) : ""});
  });
}

// The columns before the parameters.
Columns subject(const OutcomeView& view) {
  return {{"gpu", view.gpu.model},
          {"arch", view.gpu.arch},
          {"mig_profile", view.gpu.mig_profile},
          {"emulation", view.gpu.emulation ? "true" : "false"},
          {"operator", view.op},
          {"problem", view.problem},
          {"design", split_variant(view.variant).design}};
}

// The columns after the parameters.
Columns result(const RecordedOutcome& row) {
  const OutcomeView& view = row.view;
  Columns columns = {{"outcome", std::string(to_string(view.outcome))}};
  add_fields(columns, view.measurement);
  add_fields<BuildResources>(columns, view);
  add_fields(columns, view.check, true);
  columns.push_back({"note", view.measurement ? view.measurement->note : ""});
  columns.push_back({"message", view.message});
  columns.push_back({"build_sha256", view.build_sha256});
  columns.push_back({"measured_at", row.origin.measured_at});
  add_fields<EnvironmentRecord>(columns, row.origin.environment);
  return columns;
}

// The names of the parameters of all rows, in the order in which they occur.
Cells parameters_of(const std::vector<RecordedOutcome>& rows) {
  Cells names;
  for (const RecordedOutcome& row : rows) {
    for (const auto& [name, value] : split_variant(row.view.variant).parameters) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// Every row has the same columns.
std::string header(const Cells& parameters, const RecordedOutcome& row) {
  const Columns after = result(row);
  Cells names;
  for (const Column& column : subject(row.view)) names.emplace_back(column.name);
  for (const std::string& parameter : parameters) {
    const bool is_taken = std::ranges::find(names, parameter) != names.end() ||
                          std::ranges::find(after, parameter, &Column::name) != after.end();
    names.push_back((is_taken ? "parameter_" : "") + parameter);
  }
  for (const Column& column : after) names.emplace_back(column.name);
  return line(names);
}

std::string row_text(const Cells& parameters, const RecordedOutcome& row) {
  Cells cells;
  for (Column& column : subject(row.view)) cells.push_back(std::move(column.cell));
  const VariantWords variant = split_variant(row.view.variant);
  for (const std::string& parameter : parameters) {
    const std::string* value = variant.find(parameter);
    cells.push_back(value != nullptr ? *value : "");
  }
  for (Column& column : result(row)) cells.push_back(std::move(column.cell));
  return line(cells);
}

Result<std::vector<Document>> write(const ExchangedResults& results, bool /*to_folder*/) {
  if (results.outcomes.empty()) return std::vector<Document>();
  const Cells parameters = parameters_of(results.outcomes);
  std::string text = header(parameters, results.outcomes.front());
  for (const RecordedOutcome& row : results.outcomes) text += row_text(parameters, row);
  return std::vector<Document>{{"variants.csv", std::move(text)}};
}

}  // namespace

ExchangeFormat csv_format() {
  return {"csv", "every variant as a row, for spreadsheets and notebooks", write};
}

}  // namespace mgtune
