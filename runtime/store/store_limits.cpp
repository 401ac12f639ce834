// Writes and reads ceilings, the highest rates of a GPU that were measured, and counters, which the
// hardware counted while a variant ran.

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

// One counter, with the variant and the problem that it was counted for.
CounterView read_counter(Row& row) {
  CounterView view;
  row.read(view.sweep, view.gpu_id, view.op, view.problem, view.variant, view.build_sha256,
           view.launch_hash, view.counters.emplace_back());
  return view;
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
                   .add(TableRow({{"variant", variant_row}}))
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
      *database_, read_counter, [](CounterView & view) -> auto& { return view.counters; },
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

}  // namespace mgtune
