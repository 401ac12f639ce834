#include "store/write.h"

#include <algorithm>

#include "database/row.h"

namespace mgtune {
namespace {

// A newer result of the same key (after a compiler crashed, for example) replaces the older one.
Result<std::int64_t> write_build(Database& database, const BuildRecord& build) {
  const TableRow row = TableRow().add(build);
  MGTUNE_ASSIGN(
      Statement rows,
      database.query(row.insert_text("INSERT INTO builds") + " ON CONFLICT (key) DO UPDATE SET (" +
                         row.list("", "") + ") = (" + row.list("excluded.", "") + ") RETURNING id",
                     row));
  MGTUNE_ASSIGN(const bool found, rows.step());
  if (!found) return internal_error(database.path() + ": a build was not written");
  const std::int64_t id = rows.integer(0);
  MGTUNE_TRY(rows.run());
  return id;
}

// The id of the newest row of `table` with this key if it has these results, otherwise of a new row
// of the sweep. A sweep that reuses results passes them in again. `method` belongs to the key and
// to the results.
Result<std::int64_t> write_results(Database& database, const std::string& table, std::int64_t sweep,
                                   const TableRow& key, const TableRow& results,
                                   const TableRow& method = {}) {
  const TableRow whole_key = TableRow(key).add(method);
  MGTUNE_ASSIGN(Statement rows,
                database.query("SELECT id FROM (SELECT * FROM " + table + whole_key.where() +
                                   " ORDER BY id DESC LIMIT 1)" + results.where(),
                               whole_key, results));
  MGTUNE_ASSIGN(const bool is_known, rows.step());
  if (is_known) return rows.integer(0);
  return TableRow({{"sweep", sweep}})
      .add(key)
      .add(results)
      .insert(database, "INSERT INTO " + table);
}

Result<std::int64_t> write_check(Database& database, const OutcomeRecord& record) {
  const TableRow key =
      key_row(record.key).add(TableRow({{"reference_hash", record.key.reference_hash}}));
  return write_results(database, "checks", record.sweep, key, TableRow().add(*record.check));
}

Result<std::int64_t> write_measurement(Database& database, const OutcomeRecord& record) {
  const TableRow results = TableRow().add(*record.measurement);
  return write_results(database, "measurements", record.sweep, key_row(record.key), results,
                       TableRow({{"method", record.measurement->method}}));
}

}  // namespace

TableRow& TableRow::add(const TableRow& other) {
  columns_.insert(columns_.end(), other.columns_.begin(), other.columns_.end());
  return *this;
}

const SqlValue& TableRow::value(std::string_view column) const {
  return std::ranges::find(columns_, column, &SqlColumn::name)->value;
}

std::string TableRow::list(std::string_view before, std::string_view after,
                           std::string_view between) const {
  std::string text;
  for (const SqlColumn& column : columns_) {
    if (!text.empty()) text += between;
    text.append(before).append(column.name).append(after);
  }
  return text;
}

std::string TableRow::insert_text(const std::string& into) const {
  std::string places;
  for (std::size_t i = 0; i < columns_.size(); ++i) places += i == 0 ? "?" : ", ?";
  return into + " (" + list("", "") + ") VALUES (" + places + ")";
}

void TableRow::bind_to(Statement& statement) const {
  for (const SqlColumn& column : columns_) statement.bind(column.value);
}

Result<std::int64_t> TableRow::insert(Database& database, const std::string& into) const {
  MGTUNE_ASSIGN(Statement insert, database.query(insert_text(into), *this));
  MGTUNE_TRY(insert.run());
  return database.last_insert_id();
}

Status TableRow::erase(Database& database, const std::string& table) const {
  MGTUNE_ASSIGN(Statement erase, database.query("DELETE FROM " + table + where(), *this));
  return erase.run();
}

Result<std::optional<std::int64_t>> TableRow::find(Database& database,
                                                   const std::string& table) const {
  return read_first(database, &Row::integer,
                    "SELECT rowid FROM " + table + where() + " ORDER BY rowid LIMIT 1", *this);
}

TableRow key_row(const ResultKey& key) {
  return {{"gpu", key.gpu},
          {"problem", key.problem},
          {"build_sha256", key.build_sha256},
          {"launch_hash", key.launch_hash}};
}

Result<std::int64_t> id_of(Database& database, const std::string& table, const TableRow& row,
                           const TableRow& rest) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    MGTUNE_ASSIGN(const std::optional<std::int64_t> id, row.find(database, table));
    if (id) return *id;
    MGTUNE_TRY(TableRow(row).add(rest).insert(database, "INSERT OR IGNORE INTO " + table).status());
  }
  return internal_error(database.path() + ": a row that was inserted is not there");
}

Result<std::int64_t> id_of_gpu(Database& database, const GpuRecord& gpu) {
  const TableRow row = TableRow().add(gpu);
  MGTUNE_ASSIGN(const std::optional<std::int64_t> equal, row.find(database, "gpus"));
  if (equal) return *equal;
  std::optional<std::int64_t> same;
  const auto read_gpu = [&](Row& stored) {
    const std::int64_t id = stored.integer();
    if (!same && is_same_gpu(read_record<GpuRecord>(stored), gpu)) same = id;
    return true;
  };
  MGTUNE_TRY(read_all(database, read_gpu,
                      "SELECT g.id, " + columns_of<GpuRecord>("g") + " FROM gpus g ORDER BY g.id")
                 .status());
  if (same) return *same;
  return id_of(database, "gpus", row);
}

Result<std::int64_t> variant_id(Database& database, std::int64_t problem, const std::string& text) {
  MGTUNE_ASSIGN(
      const std::optional<std::int64_t> op,
      read_first(database, &Row::integer, "SELECT operator FROM problems WHERE id = ?", problem));
  if (op) return id_of(database, "variants", TableRow({{"operator", *op}, {"text", text}}));
  return invalid_argument(database.path() + ": no problem has the id " + std::to_string(problem));
}

Status write_outcome(Database& database, const OutcomeRecord& outcome,
                     const std::string& recorded_at) {
  MGTUNE_ASSIGN(const std::int64_t variant,
                variant_id(database, outcome.key.problem, outcome.variant));
  std::optional<std::int64_t> build, check, measurement;
  if (!outcome.build.key.empty()) {
    MGTUNE_ASSIGN(build, write_build(database, outcome.build));
  }
  if (outcome.check) {
    MGTUNE_ASSIGN(check, write_check(database, outcome));
  }
  if (outcome.measurement) {
    MGTUNE_ASSIGN(measurement, write_measurement(database, outcome));
  }
  // REPLACE gives the row a new id, so the newest outcome has the highest.
  return TableRow({{"sweep", outcome.sweep},
                   {"problem", outcome.key.problem},
                   {"variant", variant},
                   {"outcome", outcome.outcome},
                   {"message", outcome.message},
                   {"build_sha256", outcome.key.build_sha256},
                   {"build", build},
                   {"check_id", check},
                   {"measurement", measurement},
                   {"recorded_at", recorded_at}})
      .insert(database, "INSERT OR REPLACE INTO outcomes")
      .status();
}

Status write_tuned(Database& database, const TunedRecord& tuned) {
  MGTUNE_ASSIGN(const std::int64_t variant, variant_id(database, tuned.problem, tuned.variant));
  std::optional<std::int64_t> default_variant;
  if (!tuned.default_variant.empty()) {
    MGTUNE_ASSIGN(default_variant, variant_id(database, tuned.problem, tuned.default_variant));
  }
  MGTUNE_TRY(TableRow({{"sweep", tuned.sweep},
                       {"gpu", tuned.gpu},
                       {"problem", tuned.problem},
                       {"variant", variant},
                       {"default_variant", default_variant},
                       {"kind", tuned.key.kind},
                       {"size", tuned.key.size}})
                 .add(tuned)
                 .insert(database, "INSERT OR REPLACE INTO tuned")
                 .status());
  return share_key(database, tuned.gpu, tuned.problem);
}

Status share_key(Database& database, std::int64_t gpu, std::int64_t problem) {
  constexpr std::string_view kWithKey =
      " FROM tuned k WHERE k.gpu = ?1 AND k.problem = ?2 AND k.kind <> ''";
  MGTUNE_ASSIGN(Statement update,
                database.query("UPDATE tuned SET (kind, size) = (SELECT k.kind, k.size" +
                                   std::string(kWithKey) +
                                   " LIMIT 1) WHERE gpu = ?1 AND problem = ?2 AND kind = ''"
                                   " AND EXISTS (SELECT 1" +
                                   std::string(kWithKey) + ")",
                               gpu, problem));
  return update.run();
}

}  // namespace mgtune
