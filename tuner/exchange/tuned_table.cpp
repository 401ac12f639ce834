// The tuned table, our own format: which variant serves which problems. One pick a line, sorted, so
// that a difference between two tables is a difference between their lines;
// configs/schema/tuned.schema.json has its structure.
//
// It carries designs and parameters' values, never kernel names, options or paths.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exchange/formats.h"
#include "exchange/json_text.h"
#include "json/json.h"
#include "tables/identity_json.h"
#include "tables/read_tuned_table.h"

namespace mgtune {
namespace {

Json variant_json(const VariantWords& variant) {
  Json parameters = Json::object();
  for (const auto& [name, value] : variant.parameters) parameters[name] = json_value(value);
  return {{"design", variant.design}, {"parameters", std::move(parameters)}};
}

Json pick_json(const TunedPick& pick) {
  Json json = {{"problem", pick.problem}, {"method", pick.method}};
  json.update(variant_json(pick.variant));
  json["median_ns"] = pick.median_ns;
  if (pick.default_variant) {
    Json standard = variant_json(*pick.default_variant);
    standard["median_ns"] = pick.default_median_ns;
    json["default"] = std::move(standard);
  } else {
    json["default"] = nullptr;
  }
  json["tie"] = pick.tie;
  if (pick.of_copy) json["of_copy"] = *pick.of_copy;
  if (!pick.build_sha256.empty()) json["build_sha256"] = pick.build_sha256;
  json["measured_at"] = pick.measured_at;
  return json;
}

std::string table_text(const TunedTable& table) {
  std::vector<std::string> picks;
  for (const TunedPick& pick : table.picks) picks.push_back(pick_json(pick).line_text());
  return fmt::format(
      "    {{\n      \"operator\": {},\n      \"gpu\": {},\n      \"environment\": {},\n"
      "      \"picks\": [\n{}\n      ]\n    }}",
      Json(table.op).line_text(), gpu_json(table.gpu).line_text(),
      environment_json(table.environment).line_text(), joined_lines(picks, 8));
}

std::string document(std::span<const TunedTable> tables) {
  std::vector<std::string> texts;
  for (const TunedTable& table : tables) texts.push_back(table_text(table));
  return fmt::format("{{\n  \"format\": 1,\n  \"tables\": [\n{}\n  ]\n}}\n",
                     joined_lines(texts, 0));
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
