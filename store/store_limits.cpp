// Writes and reads ceilings, the highest rates of a GPU that were measured; counters, which the
// hardware counted while a variant ran; and spaces, which say how many points of each design a
// sweep could use and how many points each rule excluded.

#include "database/database.h"
#include "database/row.h"
#include "store/row_groups.h"
#include "store/store.h"
#include "store/transaction.h"
#include "store/write.h"

namespace mgtune {
namespace {

CeilingView read_ceiling(Row& row) {
  CeilingView view;
  row.read(view.sweep, view.gpu_id, view.driver, view.ceiling);
  return view;
}

// One counter, with the variant and the problem that it was counted for.
CounterView read_counter(Row& row) {
  CounterView view;
  row.read(view.sweep, view.gpu_id, view.op, view.problem, view.variant, view.build_sha256,
           view.launch_hash, view.counters.emplace_back());
  return view;
}

// A space and one of the rules that exclude points of it.
SpaceView read_space(Row& row) {
  SpaceView view;
  std::optional<PrunedRecord> pruned;
  row.read(view.sweep, view.gpu_id, view.op, view.problem, view.space, pruned);
  if (pruned) view.space.pruned.push_back(*pruned);
  return view;
}

Status insert_space(Database& database, std::int64_t sweep, std::int64_t problem,
                    const SpaceRecord& space) {
  MGTUNE_ASSIGN(const std::int64_t id, TableRow({{"sweep", sweep}, {"problem", problem}})
                                           .add(space)
                                           .insert(database, "INSERT INTO spaces"));
  for (const PrunedRecord& pruned : space.pruned) {
    MGTUNE_TRY(
        TableRow({{"space", id}}).add(pruned).insert(database, "INSERT INTO pruned").status());
  }
  return {};
}

}  // namespace

Status Store::record_ceiling(std::int64_t sweep, std::int64_t gpu, const CeilingRecord& ceiling) {
  return TableRow({{"sweep", sweep}, {"gpu", gpu}})
      .add(ceiling)
      .insert(*database_, "INSERT OR REPLACE INTO ceilings")
      .status();
}

Result<std::vector<CeilingView>> Store::ceilings(std::int64_t gpu) {
  return read_all(*database_, read_ceiling,
                  "SELECT c.sweep, c.gpu, e.driver, " + columns_of<CeilingRecord>("c") +
                      " FROM ceilings c JOIN sweeps s ON s.id = c.sweep"
                      " JOIN environments e ON e.id = s.environment"
                      " WHERE c.id IN (SELECT max(id) FROM ceilings WHERE gpu = ?"
                      " GROUP BY kind, method, bytes) ORDER BY c.kind, c.method, c.bytes",
                  gpu);
}

Status Store::record_counters(std::int64_t sweep, const ResultKey& key, const std::string& variant,
                              std::span<const CounterRecord> counters) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_ASSIGN(const std::int64_t variant_row, variant_id(*database_, key.problem, variant));
  const TableRow row = TableRow({{"sweep", sweep}}).add(key_row(key));
  MGTUNE_TRY(row.erase(*database_, "counters"));
  for (const CounterRecord& counter : counters) {
    MGTUNE_TRY(TableRow(row)
                   .add({{"variant", variant_row}})
                   .add(counter)
                   .insert(*database_, "INSERT INTO counters")
                   .status());
  }
  return transaction.commit();
}

Result<std::vector<CounterRecord>> Store::counters(const ResultKey& key) {
  const TableRow row = key_row(key);
  return read_all(*database_, read_record<CounterRecord>,
                  "SELECT " + columns_of<CounterRecord>("counters") + " FROM counters" +
                      row.where() + " AND sweep = (SELECT max(sweep) FROM counters" + row.where() +
                      ") ORDER BY id",
                  row, row);
}

Result<std::vector<CounterView>> Store::counters(const std::string& op) {
  return read_groups(
      *database_, read_counter, [](CounterView& view) { return &view.counters; },
      "SELECT min(c.id) OVER (PARTITION BY c.sweep, c.gpu, c.problem, c.variant, c.build_sha256,"
      " c.launch_hash), c.sweep, c.gpu, o.name, p.text, v.text, c.build_sha256, c.launch_hash, " +
          columns_of<CounterRecord>("c") +
          " FROM counters c JOIN problems p ON p.id = c.problem"
          " JOIN operators o ON o.id = p.operator JOIN variants v ON v.id = c.variant"
          " WHERE (?1 = '' OR o.name = ?1) AND c.sweep = (SELECT max(n.sweep)"
          " FROM counters n WHERE n.gpu = c.gpu AND n.problem = c.problem"
          " AND n.variant = c.variant)"
          " ORDER BY o.name, c.problem, c.gpu, c.variant, c.build_sha256, c.launch_hash, c.id",
      op);
}

Status Store::record_spaces(std::int64_t sweep, std::int64_t problem,
                            std::span<const SpaceRecord> spaces) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_TRY(TableRow({{"sweep", sweep}, {"problem", problem}}).erase(*database_, "spaces"));
  for (const SpaceRecord& space : spaces) {
    MGTUNE_TRY(insert_space(*database_, sweep, problem, space));
  }
  return transaction.commit();
}

Result<std::vector<SpaceView>> Store::spaces(const std::string& op) {
  return read_groups(
      *database_, read_space, [](SpaceView& view) { return &view.space.pruned; },
      "SELECT x.id, x.sweep, s.gpu, o.name, p.text, " + columns_of<SpaceRecord>("x") + ", " +
          columns_of<PrunedRecord>("r") +
          " FROM spaces x JOIN sweeps s ON s.id = x.sweep JOIN problems p ON p.id = x.problem"
          " JOIN operators o ON o.id = p.operator LEFT JOIN pruned r ON r.space = x.id"
          " WHERE (?1 = '' OR o.name = ?1) AND x.sweep = (SELECT max(n.sweep) FROM spaces n"
          " JOIN sweeps t ON t.id = n.sweep WHERE n.problem = x.problem AND t.gpu = s.gpu)"
          " ORDER BY o.name, x.problem, s.gpu, x.id, r.rowid",
      op);
}

}  // namespace mgtune
