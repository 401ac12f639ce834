// Writes and reads finals: the times of a problem's fastest variants, with every sample.

#include "database/database.h"
#include "json/json.h"
#include "json/json_cursor.h"
#include "store/row_groups.h"
#include "store/store.h"
#include "store/transaction.h"
#include "store/write.h"

namespace mgtune {
namespace {

// A JSON array, so that SQLite's own functions can read it.
std::string samples_text(const std::vector<double>& samples) {
  Json text = Json::array();
  for (const double sample : samples) text.push_back(number_or_word(sample));
  return text.compact_text();
}

// A final and one of its finalists.
FinalView read_final(Row& row) {
  FinalView view;
  FinalRecord& final = view.final;
  std::optional<FinalistRecord> finalist;
  row.read(final.sweep, final.gpu, final.problem, final, view.op, view.problem, view.gpu, finalist);
  if (!finalist) return view;
  row.read(finalist->variant, finalist->build_sha256, finalist->launch_hash);
  finalist->samples_ns = read_samples(row);
  final.finalists.push_back(std::move(*finalist));
  return view;
}

template <typename... Values>
Result<std::vector<FinalView>> read_finals(Database& database, const std::string& condition,
                                           const Values&... values) {
  return read_groups(
      database, read_final, [](FinalView& view) { return &view.final.finalists; },
      "SELECT f.id, f.sweep, f.gpu, f.problem, " + columns_of<FinalRecord>("f") +
          ", o.name, p.text, " + columns_of<GpuRecord>("g") + ", " +
          columns_of<FinalistRecord>("l") +
          ", v.text, l.build_sha256, l.launch_hash, l.samples_ns"
          " FROM finals f JOIN gpus g ON g.id = f.gpu JOIN problems p ON p.id = f.problem"
          " JOIN operators o ON o.id = p.operator LEFT JOIN finalists l ON l.final = f.id"
          " LEFT JOIN variants v ON v.id = l.variant WHERE " +
          condition + " ORDER BY o.name, f.problem, f.gpu, f.method, l.place",
      values...);
}

}  // namespace

std::vector<double> read_samples(Row& row) {
  const std::string text = row.text();
  const Result<JsonValue> value = parse_json(text);
  const std::string column = "samples_ns";
  std::vector<double> samples;
  if (!value.ok() || !JsonCursor(column, *value).read(samples).ok()) {
    row.fail("samples that are no array of numbers: " + text.substr(0, 60));
  }
  return samples;
}

Status Store::record_final(const FinalRecord& final) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_ASSIGN(const std::int64_t id,
                TableRow({{"sweep", final.sweep}, {"gpu", final.gpu}, {"problem", final.problem}})
                    .add(final)
                    .insert(*database_, "INSERT OR REPLACE INTO finals"));
  std::int64_t place = 0;
  for (const FinalistRecord& finalist : final.finalists) {
    MGTUNE_ASSIGN(const std::int64_t variant,
                  variant_id(*database_, final.problem, finalist.variant));
    MGTUNE_TRY(TableRow({{"final", id},
                         {"place", place++},
                         {"variant", variant},
                         {"build_sha256", finalist.build_sha256},
                         {"launch_hash", finalist.launch_hash},
                         {"samples_ns", samples_text(finalist.samples_ns)}})
                   .add(finalist)
                   .insert(*database_, "INSERT INTO finalists")
                   .status());
  }
  return transaction.commit();
}

Result<std::vector<FinalView>> Store::finals(const std::string& op) {
  return read_finals(*database_,
                     "f.id IN (SELECT max(id) FROM finals GROUP BY gpu, problem, method)"
                     " AND (?1 = '' OR o.name = ?1)",
                     op);
}

Result<std::optional<FinalRecord>> Store::find_final(std::int64_t gpu, std::int64_t problem,
                                                     const std::string& method) {
  const TableRow key({{"gpu", gpu}, {"problem", problem}, {"method", method}});
  MGTUNE_ASSIGN(
      std::vector<FinalView> views,
      read_finals(*database_, "f.id = (SELECT max(id) FROM finals" + key.where() + ")", key));
  if (views.empty()) return std::optional<FinalRecord>();
  return std::optional(std::move(views.front().final));
}

}  // namespace mgtune
