#include "tables/read_tuned_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "build/cache_entry.h"
#include "tables/checked_values.h"

namespace mgtune {
namespace {

constexpr std::int64_t kTableFormat = 1;

Result<std::string> read_build(const JsonCursor& build) {
  MGTUNE_ASSIGN(std::string word, build.string());
  if (!is_sha256_hex(word)) return build.unexpected("a SHA-256 in lower-case hex");
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

Result<TunedTableRow> read_pick(const JsonCursor& pick, const Operator& op, const GpuRecord& gpu) {
  MGTUNE_TRY(pick.expect_keys(
      {"problem", "method", "design", "parameters", "median_ns", "default", "tie", "measured_at"},
      {"of_copy", "build_sha256"}));
  TunedTableRow row;
  row.view.gpu = gpu;
  TunedRecord& tuned = row.view.tuned;
  MGTUNE_ASSIGN(ProblemRecord problem, checked_problem(pick.at("problem"), op));
  row.view.op = std::move(problem.op);
  tuned.key = std::move(problem.key);
  row.view.problem = std::move(problem.text);
  row.view.bytes = problem.bytes;
  row.view.flops = problem.flops;
  MGTUNE_ASSIGN(tuned.method, read_method(pick.at("method"), gpu));
  MGTUNE_ASSIGN(tuned.variant, checked_variant(pick.at("design"), pick.at("parameters"), op));
  MGTUNE_ASSIGN(tuned.median_ns, read_positive(pick.at("median_ns")));
  MGTUNE_TRY(read_default(pick.at("default"), op, tuned));
  MGTUNE_ASSIGN(tuned.tie, pick.at("tie").boolean());
  if (tuned.tie && tuned.variant != tuned.default_variant) {
    return pick.at("tie").error("a tie goes to the default, and this is another variant");
  }
  // This value is checked but not kept, because the time of a copy is measured on each machine.
  if (const auto of_copy = pick.find("of_copy")) MGTUNE_TRY(read_positive(*of_copy).status());
  if (const auto build = pick.find("build_sha256")) {
    MGTUNE_ASSIGN(tuned.build_sha256, read_build(*build));
  }
  MGTUNE_ASSIGN(row.measured_at, read_time_stamp(pick.at("measured_at")));
  return row;
}

bool is_unknown(const JsonCursor& name, Catalog& catalog) {
  const Result<std::string> word = read_text(name);
  return word.ok() && catalog.find_operator(*word).status().code() == StatusCode::not_found;
}

Status read_table_rows(const JsonCursor& table, const Operator& op,
                       std::vector<TunedTableRow>& rows) {
  MGTUNE_ASSIGN(const GpuRecord gpu, read_gpu(table.at("gpu")));
  MGTUNE_ASSIGN(const EnvironmentRecord environment, read_environment(table.at("environment")));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> picks, table.at("picks").elements());
  for (const JsonCursor& pick : picks) {
    MGTUNE_ASSIGN(TunedTableRow row, read_pick(pick, op, gpu));
    row.environment = environment;
    rows.push_back(std::move(row));
  }
  return {};
}

Status read_table(const JsonCursor& table, Catalog& catalog, UnknownOperators unknown,
                  std::vector<TunedTableRow>& rows) {
  if (unknown == UnknownOperators::skip && is_unknown(table.at("operator"), catalog)) return {};
  MGTUNE_ASSIGN(const Operator* op, checked_operator(table.at("operator"), catalog));
  return read_table_rows(table, *op, rows);
}

// The tables of a document of a format that is known here.
Result<std::vector<JsonCursor>> tables_of(const JsonCursor& root) {
  if (!is_tuned_table(root)) {
    return root.unexpected("a tuned table, with \"format\" and \"tables\"");
  }
  MGTUNE_ASSIGN(const std::int64_t format,
                root.at("format").integer(1, std::numeric_limits<std::int64_t>::max()));
  if (format > kTableFormat) {
    return incompatible(root.at("format")
                            .error("format " + std::to_string(format) +
                                   " is newer than this mgtune, which reads format " +
                                   std::to_string(kTableFormat))
                            .message());
  }
  MGTUNE_TRY(root.expect_keys({"format", "tables"}));
  MGTUNE_ASSIGN(std::vector<JsonCursor> tables, root.at("tables").elements());
  for (const JsonCursor& table : tables) {
    MGTUNE_TRY(table.expect_keys({"operator", "gpu", "environment", "picks"}));
  }
  return tables;
}

}  // namespace

void number_gpus(std::vector<TunedTableRow>& rows) {
  std::vector<GpuRecord> gpus;
  for (TunedTableRow& row : rows) {
    const std::size_t place = find_same_gpu(gpus, row.view.gpu);
    row.view.tuned.gpu = static_cast<std::int64_t>(place) + 1;
    if (place == gpus.size()) gpus.push_back(row.view.gpu);
  }
}

bool is_tuned_table(const JsonCursor& root) {
  return root.value().find("format") != nullptr && root.value().find("tables") != nullptr;
}

Result<std::vector<TunedTableRow>> read_tuned_table(const JsonCursor& root, Catalog& catalog,
                                                    UnknownOperators unknown) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> tables, tables_of(root));
  std::vector<TunedTableRow> rows;
  for (const JsonCursor& table : tables) MGTUNE_TRY(read_table(table, catalog, unknown, rows));
  number_gpus(rows);
  return rows;
}

std::vector<std::string> unknown_operator_sentences(const std::string& file,
                                                    const JsonValue& document, Catalog& catalog) {
  const Result<std::vector<JsonCursor>> tables = tables_of(JsonCursor(file, document));
  if (!tables.ok()) return {};
  std::map<std::string, std::size_t> picks_of;  // by operator
  for (const JsonCursor& table : *tables) {
    if (!is_unknown(table.at("operator"), catalog)) continue;
    const Result<std::vector<JsonCursor>> picks = table.at("picks").elements();
    picks_of[*read_text(table.at("operator"))] += picks.ok() ? picks->size() : 0;
  }
  std::vector<std::string> sentences;
  sentences.reserve(picks_of.size());
  for (const auto& [op, picks] : picks_of) {
    sentences.push_back(fmt::format(
        "{}: {} tuned problem{} of {} {} left out, because this mgtune does not know the operator",
        file, picks, picks == 1 ? "" : "s", op, picks == 1 ? "is" : "are"));
  }
  return sentences;
}

Result<std::vector<TunedTableRow>> read_tuned_rows(const JsonCursor& root, const Operator& op) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> tables, tables_of(root));
  std::vector<TunedTableRow> rows;
  for (const JsonCursor& table : tables) {
    MGTUNE_ASSIGN(const std::string name, read_text(table.at("operator")));
    if (name == op.full_name()) MGTUNE_TRY(read_table_rows(table, op, rows));
  }
  number_gpus(rows);
  return rows;
}

}  // namespace mgtune
