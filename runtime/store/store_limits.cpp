// Ceilings, what a GPU can do at most, as sweeps and calibrations measured it; and counters, what
// the hardware counted while a variant ran.

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"
#include "store/write.h"

namespace mgtune {
namespace {

CeilingView read_ceiling(Row& row) {
  CeilingView view;
  row.read(view.sweep, view.gpu_id, view.driver, view.ceiling);
  return view;
}

// One counter with what it is of; neighbours of equal key are one view.
CounterView read_counter_row(Row& row) {
  CounterView view;
  row.read(view.sweep, view.gpu_id, view.op, view.problem, view.variant, view.build_sha256,
           view.launch_hash, view.counters.emplace_back());
  return view;
}

bool is_of(const CounterView& view, const CounterView& row) {
  return view.sweep == row.sweep && view.gpu_id == row.gpu_id && view.op == row.op &&
         view.problem == row.problem && view.variant == row.variant &&
         view.build_sha256 == row.build_sha256 && view.launch_hash == row.launch_hash;
}

}  // namespace

Status Store::record_ceiling(std::int64_t sweep, std::int64_t gpu, const CeilingRecord& ceiling) {
  return TableRow({{"sweep", sweep}, {"gpu", gpu}})
      .add(ceiling)
      .insert(*database_, "INSERT OR REPLACE INTO ceilings");
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
  MGTUNE_ASSIGN(const std::int64_t op, operator_of_problem(*database_, key.problem));
  MGTUNE_ASSIGN(const std::int64_t variant_row, variant_id(*database_, op, variant));
  MGTUNE_ASSIGN(Statement remove,
                database_->query("DELETE FROM counters WHERE sweep = ? AND problem = ?"
                                 " AND build_sha256 = ? AND launch_hash = ?",
                                 sweep, key.problem, key.build_sha256, key.launch_hash));
  MGTUNE_TRY(remove.run());
  for (const CounterRecord& counter : counters) {
    MGTUNE_TRY(TableRow({{"sweep", sweep},
                         {"gpu", key.gpu},
                         {"problem", key.problem},
                         {"variant", variant_row},
                         {"build_sha256", key.build_sha256},
                         {"launch_hash", key.launch_hash}})
                   .add(counter)
                   .insert(*database_, "INSERT INTO counters"));
  }
  return transaction.commit();
}

Result<std::vector<CounterRecord>> Store::counters(const ResultKey& key) {
  return read_all(*database_, read_record<CounterRecord>,
                  "SELECT " + columns_of<CounterRecord>("counters") +
                      " FROM counters WHERE gpu = ?1 AND problem = ?2"
                      " AND build_sha256 = ?3 AND launch_hash = ?4 AND sweep ="
                      " (SELECT max(sweep) FROM counters WHERE gpu = ?1 AND problem = ?2"
                      " AND build_sha256 = ?3 AND launch_hash = ?4) ORDER BY id",
                  key.gpu, key.problem, key.build_sha256, key.launch_hash);
}

Result<std::vector<CounterView>> Store::counters(const std::string& op) {
  MGTUNE_ASSIGN(
      const std::vector<CounterView> rows,
      read_all(*database_, read_counter_row,
               "SELECT c.sweep, c.gpu, o.name, p.text, v.text, c.build_sha256, c.launch_hash, " +
                   columns_of<CounterRecord>("c") +
                   " FROM counters c JOIN problems p ON p.id = c.problem"
                   " JOIN operators o ON o.id = p.operator JOIN variants v ON v.id = c.variant"
                   " WHERE (?1 = '' OR o.name = ?1) AND c.sweep = (SELECT max(n.sweep)"
                   " FROM counters n WHERE n.gpu = c.gpu AND n.problem = c.problem"
                   " AND n.variant = c.variant)"
                   " ORDER BY o.name, c.problem, c.gpu, c.variant, c.build_sha256,"
                   " c.launch_hash, c.id",
               op));
  std::vector<CounterView> views;
  for (const CounterView& row : rows) {
    if (views.empty() || !is_of(views.back(), row)) {
      views.push_back(row);
    } else {
      views.back().counters.push_back(row.counters.front());
    }
  }
  return views;
}

}  // namespace mgtune
