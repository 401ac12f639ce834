// The tuned table, our own format: which variant serves which problems. One pick a line, sorted, so
// that a difference between two tables is a difference between their lines;
// configs/schema/tuned.schema.json has its structure.
//
// It carries designs and parameters' values, never kernel names, options or paths.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "exchange/checked_names.h"
#include "exchange/formats.h"
#include "exchange/identity_json.h"
#include "exchange/json_text.h"

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

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
  for (const TunedPick& pick : table.picks) picks.push_back(one_line(pick_json(pick)));
  return fmt::format(
      "    {{\n      \"operator\": {},\n      \"gpu\": {},\n      \"environment\": {},\n"
      "      \"picks\": [\n{}\n      ]\n    }}",
      one_line(table.op), one_line(gpu_json(table.gpu)),
      one_line(environment_json(table.environment)), joined_lines(picks, 8));
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

bool recognizes(const JsonCursor& root) {
  return root.value().find("format") != nullptr && root.value().find("tables") != nullptr;
}

Result<std::string> read_build(const JsonCursor& build) {
  MGTUNE_ASSIGN(std::string word, build.string());
  const bool is_hash =
      word.size() == 64 && word.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) return build.unexpected("a SHA-256 in lower-case hex");
  return word;
}

Status read_default(const JsonCursor& standard, const Operator& op, TunedRecord& tuned) {
  if (standard.value().kind == JsonValue::Kind::null) return {};
  MGTUNE_TRY(standard.expect_keys({"design", "parameters", "median_ns"}));
  MGTUNE_ASSIGN(tuned.default_variant,
                checked_variant(standard.at("design"), standard.at("parameters"), op));
  MGTUNE_ASSIGN(tuned.default_median_ns, read_positive(standard.at("median_ns")));
  return {};
}

Result<ImportedPick> read_pick(const JsonCursor& pick, const Operator& op, const GpuRecord& gpu) {
  MGTUNE_TRY(pick.expect_keys(
      {"problem", "method", "design", "parameters", "median_ns", "default", "tie", "measured_at"},
      {"of_copy", "build_sha256"}));
  ImportedPick read;
  TunedRecord& tuned = read.tuned;
  MGTUNE_ASSIGN(read.problem, checked_problem(pick.at("problem"), op));
  MGTUNE_ASSIGN(tuned.method, read_method(pick.at("method"), gpu));
  MGTUNE_ASSIGN(tuned.variant, checked_variant(pick.at("design"), pick.at("parameters"), op));
  MGTUNE_ASSIGN(tuned.median_ns, read_positive(pick.at("median_ns")));
  MGTUNE_TRY(read_default(pick.at("default"), op, tuned));
  MGTUNE_ASSIGN(tuned.tie, pick.at("tie").boolean());
  if (tuned.tie && tuned.variant != tuned.default_variant) {
    return pick.at("tie").error("a tie goes to the default, and this is another variant");
  }
  // What a copy takes is measured on each machine: read, and not kept.
  if (const auto of_copy = pick.find("of_copy")) MGTUNE_TRY(read_positive(*of_copy).status());
  if (const auto build = pick.find("build_sha256")) {
    MGTUNE_ASSIGN(tuned.build_sha256, read_build(*build));
  }
  return read;
}

Status read_table(const JsonCursor& table, Catalog& catalog, std::vector<ImportedSweep>& sweeps) {
  MGTUNE_TRY(table.expect_keys({"operator", "gpu", "environment", "picks"}));
  MGTUNE_ASSIGN(const Operator* op, checked_operator(table.at("operator"), catalog));
  ImportedSweep sweep;
  MGTUNE_ASSIGN(sweep.gpu, read_gpu(table.at("gpu")));
  MGTUNE_ASSIGN(sweep.environment, read_environment(table.at("environment")));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> picks, table.at("picks").elements());
  std::vector<ImportedSweep> of_table;  // one for each time at which something was measured
  for (const JsonCursor& pick : picks) {
    MGTUNE_ASSIGN(ImportedPick read, read_pick(pick, *op, sweep.gpu));
    MGTUNE_ASSIGN(sweep.measured_at, read_time_stamp(pick.at("measured_at")));
    const auto same = std::ranges::find(of_table, sweep.measured_at, &ImportedSweep::measured_at);
    ImportedSweep& target = same != of_table.end() ? *same : of_table.emplace_back(sweep);
    target.picks.push_back(std::move(read));
  }
  std::ranges::move(of_table, std::back_inserter(sweeps));
  return {};
}

Result<std::vector<ImportedSweep>> read_results(const JsonCursor& root, Catalog& catalog) {
  MGTUNE_TRY(root.expect_keys({"format", "tables"}));
  MGTUNE_TRY(root.at("format").integer(1, 1).status());
  std::vector<ImportedSweep> sweeps;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> tables, root.at("tables").elements());
  for (const JsonCursor& table : tables) MGTUNE_TRY(read_table(table, catalog, sweeps));
  return sweeps;
}

}  // namespace

ExchangeFormat tuned_table_format() {
  ExchangeFormat format{"tuned", "which variant serves which problem; what 'mgtune import' takes",
                        write};
  format.recognizes = recognizes;
  format.read_results = read_results;
  return format;
}

}  // namespace mgtune
