// The tuned table, our own format: which variant serves which problems. One pick a line, sorted, so
// that a difference between two tables is a difference between their lines;
// configs/schema/tuned.schema.json has its structure.
//
// It carries designs and parameters' values, never kernel names, options or paths.

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "exchange/formats.h"
#include "store/record_json.h"
#include "tables/read_tuned_table.h"

namespace mgtune {
namespace {

Json variant_json(const std::string& text) {
  const VariantWords variant = split_variant(text);
  Json parameters = Json::object();
  for (const auto& [name, value] : variant.parameters) parameters[name] = json_value(value);
  return {{"design", variant.design}, {"parameters", std::move(parameters)}};
}

Json pick_json(const TunedTableRow& row) {
  const TunedView& view = row.view;
  const TunedRecord& tuned = view.tuned;
  Json json = {{"problem", view.problem}, {"method", tuned.method}};
  json.update(variant_json(tuned.variant));
  json["median_ns"] = tuned.median_ns;
  json["default"] = nullptr;
  if (has_default(tuned)) {
    Json standard = variant_json(tuned.default_variant);
    standard["median_ns"] = tuned.default_median_ns;
    json["default"] = std::move(standard);
  }
  json["tie"] = tuned.tie;
  // The bandwidth relative to our fastest copy of the same number of bytes.
  if (view.copy_ns > 0 && tuned.median_ns > 0) json["of_copy"] = view.copy_ns / tuned.median_ns;
  if (!tuned.build_sha256.empty()) json["build_sha256"] = tuned.build_sha256;
  json["measured_at"] = row.measured_at;
  return json;
}

std::string table_text(const TunedTable& table) {
  std::vector<std::string> picks;
  for (const TunedTableRow& row : table.picks) picks.push_back(pick_json(row).line_text());
  return fmt::format(
      "    {{\n      \"operator\": {},\n      \"gpu\": {},\n      \"environment\": {},\n"
      "      \"picks\": [\n        {}\n      ]\n    }}",
      Json(table.op).line_text(), record_json(table.gpu).line_text(),
      record_json(table.environment).line_text(), fmt::join(picks, ",\n        "));
}

std::string document(std::span<const TunedTable> tables) {
  std::vector<std::string> texts;
  for (const TunedTable& table : tables) texts.push_back(table_text(table));
  return fmt::format("{{\n  \"format\": 1,\n  \"tables\": [\n{}\n  ]\n}}\n",
                     fmt::join(texts, ",\n"));
}

Result<std::vector<Document>> write(const ExchangedResults& results,
                                    ExchangeFormat::Layout layout) {
  std::vector<Document> documents;
  const std::span<const TunedTable> tables = results.tables;
  for (std::size_t first = 0; first < tables.size();) {
    const TunedTable& table = tables[first];
    std::size_t end = first + 1;
    const auto belongs = [&](const TunedTable& other) {
      return layout == ExchangeFormat::Layout::file ||
             (other.op == table.op && other.gpu == table.gpu);
    };
    while (end < tables.size() && belongs(tables[end])) ++end;
    documents.push_back({document_name({gpu_word(table.gpu), table.op, "tuned.json"}),
                         document(tables.subspan(first, end - first))});
    first = end;
  }
  return documents;
}

ImportedPick picked(TunedTableRow row) {
  ImportedPick pick;
  pick.problem = {std::move(row.view.op), std::move(row.view.problem), row.view.bytes,
                  row.view.flops};
  pick.tuned = std::move(row.view.tuned);
  pick.tuned.gpu = 0;  // a row id of the store that takes it
  return pick;
}

// One sweep for each operator, GPU, environment and time at which something was measured.
Result<std::vector<ImportedSweep>> read_results(const JsonCursor& root, Catalog& catalog) {
  MGTUNE_ASSIGN(std::vector<TunedTableRow> rows,
                read_tuned_table(root, catalog, UnknownOperators::refuse));
  std::vector<ImportedSweep> sweeps;
  for (TunedTableRow& row : rows) {
    const auto same = std::ranges::find_if(sweeps, [&](const ImportedSweep& sweep) {
      return sweep.gpu == row.view.gpu && sweep.environment == row.environment &&
             sweep.measured_at == row.measured_at && sweep.picks.front().problem.op == row.view.op;
    });
    const bool is_new = same == sweeps.end();
    ImportedSweep& target = is_new ? sweeps.emplace_back() : *same;
    if (is_new) {
      target.gpu = row.view.gpu;
      target.environment = row.environment;
      target.measured_at = row.measured_at;
    }
    target.picks.push_back(picked(std::move(row)));
  }
  return sweeps;
}

}  // namespace

ExchangeFormat tuned_table_format() {
  ExchangeFormat format{"tuned", "which variant serves which problem; what 'mgtune import' takes",
                        write};
  format.recognizes = is_tuned_table;
  format.read_results = read_results;
  return format;
}

}  // namespace mgtune
