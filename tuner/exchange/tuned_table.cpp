// The tuned table, our own format: which variant serves which problem. There is one pick per line,
// and the lines are sorted, so that tools that compare lines show the picks that differ.
// configs/schema/tuned.schema.json has the structure.
//
// A table has designs and values of parameters, but no kernel names, options or paths.

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
  for (const auto& [name, value] : variant.parameters) parameters[name] = Json::of_word(value);
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

Result<std::vector<Document>> write(const ExchangedResults& results, bool to_folder) {
  std::vector<Document> documents;
  const std::span<const TunedTable> tables = results.tables;
  for (std::size_t first = 0; first < tables.size();) {
    const TunedTable& table = tables[first];
    std::size_t end = first + 1;
    const auto belongs = [&](const TunedTable& other) {
      return !to_folder || (other.op == table.op && is_same_gpu(other.gpu, table.gpu));
    };
    while (end < tables.size() && belongs(tables[end])) ++end;
    documents.push_back({document_name({gpu_word(table.gpu), table.op, "tuned.json"}),
                         document(tables.subspan(first, end - first))});
    first = end;
  }
  return documents;
}

// One sweep for each operator, GPU, environment and time at which something was measured.
Result<std::vector<ImportedSweep>> read_results(const JsonCursor& root, Catalog& catalog) {
  MGTUNE_ASSIGN(std::vector<TunedTableRow> rows,
                read_tuned_table(root, catalog, UnknownOperators::refuse));
  std::vector<ImportedSweep> sweeps;
  for (TunedTableRow& row : rows) {
    auto same = std::ranges::find_if(sweeps, [&](const ImportedSweep& sweep) {
      return is_same_gpu(sweep.gpu, row.view.gpu) && sweep.environment == row.environment &&
             sweep.measured_at == row.measured_at && sweep.picks.front().op == row.view.op;
    });
    if (same == sweeps.end()) {
      sweeps.push_back({row.view.gpu, row.environment, "", row.measured_at, {}, {}});
      same = sweeps.end() - 1;
    }
    same->picks.push_back(std::move(row.view));
  }
  return sweeps;
}

}  // namespace

ExchangeFormat tuned_table_format() {
  return {"tuned", "which variant serves which problem; what 'mgtune import' takes",
          write,   is_tuned_table,
          nullptr, read_results};
}

}  // namespace mgtune
