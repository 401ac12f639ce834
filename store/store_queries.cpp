// The functions of Store that find single results by their key, and those that read joined views.
// Each of them is one SELECT, so it sees one state of the file, however many processes write.
// Queries of picks read the ceilings with further SELECTs.

#include <map>
#include <string>

#include "database/database.h"
#include "database/pick_queries.h"
#include "database/row.h"
#include "store/copy_times.h"
#include "store/store.h"
#include "store/write.h"

namespace mgtune {
namespace {

OutcomeView read_outcome(Row& row) {
  OutcomeView view;
  row.read(view.id, view.recorded_at, view.sweep, view.gpu_id, view.op, view.problem, view.variant,
           view.bytes, view.flops, view.outcome, view.message, view.build_sha256, view.launch_hash,
           view.gpu);
  std::optional<BuildResources> resources;
  row.read(resources);
  if (resources) static_cast<BuildResources&>(view) = *resources;
  row.read(view.check, view.measurement);
  return view;
}

SweepView read_sweep(Row& row) {
  SweepView view;
  row.read(view.sweep.id, view.sweep.gpu, view.sweep.environment, view.sweep, view.environment,
           view.gpu);
  return view;
}

// The newest row of `table` with this key.
template <HasFields Record>
Result<std::optional<Record>> find_newest(Database& database, const std::string& table,
                                          const TableRow& key) {
  return read_first(database, read_record<Record>,
                    "SELECT " + columns_of<Record>("t") + " FROM " + table + " t" + key.where() +
                        " ORDER BY id DESC LIMIT 1",
                    key);
}

// Fills in copy_ns.
Status add_copy_times(Store& store, std::vector<TunedView>& picks) {
  std::map<std::int64_t, std::map<std::string, CopyTimes>> by_gpu;  // and method
  for (TunedView& pick : picks) {
    const auto [gpu, is_new] = by_gpu.try_emplace(pick.tuned.gpu);
    if (is_new) {
      MGTUNE_ASSIGN(const std::vector<CeilingView> ceilings, store.ceilings(pick.tuned.gpu));
      for (const CeilingView& view : ceilings) {
        const CeilingRecord& ceiling = view.ceiling;
        if (ceiling.kind == "copy") gpu->second[ceiling.method].add(ceiling.bytes, ceiling.rate);
      }
    }
    pick.copy_ns = gpu->second[pick.tuned.method].ns(static_cast<std::int64_t>(pick.bytes));
  }
  return {};
}

}  // namespace

Result<std::optional<BuildRecord>> Store::find_build(const std::string& key) {
  return find_newest<BuildRecord>(*database_, "builds", {{"key", key}});
}

Result<std::optional<CheckRecord>> Store::find_check(const ResultKey& key) {
  return find_newest<CheckRecord>(
      *database_, "checks", key_row(key).add(TableRow({{"reference_hash", key.reference_hash}})));
}

Result<std::optional<MeasurementRecord>> Store::find_measurement(const ResultKey& key,
                                                                 const std::string& method) {
  return find_newest<MeasurementRecord>(*database_, "measurements",
                                        key_row(key).add(TableRow({{"method", method}})));
}

Result<std::vector<SweepView>> Store::sweeps() {
  return read_all(*database_, read_sweep,
                  "SELECT s.id, s.gpu, s.environment, " + columns_of<SweepRecord>("s") + ", " +
                      columns_of<EnvironmentRecord>("e") + ", " + columns_of<GpuRecord>("g") +
                      " FROM sweeps s JOIN environments e ON e.id = s.environment"
                      " JOIN gpus g ON g.id = s.gpu ORDER BY s.id");
}

Result<std::vector<OutcomeView>> Store::outcomes(std::int64_t sweep, const std::string& op,
                                                 const std::string& problem) {
  // Only the arguments that are given become conditions on rows: a condition such as "?1 = 0 OR
  // ..." would keep SQLite from using its indexes.
  const std::string of_sweep = sweep == 0 ? "?1 = 0" : "r2.sweep = ?1";
  const std::string of_operator =
      op.empty() ? "?2 = '' AND ?3 = ''"
                 : "r2.problem IN (SELECT p2.id FROM problems p2"
                   " JOIN operators o2 ON o2.id = p2.operator WHERE o2.name = ?2" +
                       std::string(problem.empty() ? " AND ?3 = ''" : " AND p2.text = ?3") + ")";
  return read_all(*database_, read_outcome,
                  "SELECT r.id, r.recorded_at, r.sweep, s.gpu, o.name, p.text, v.text, p.bytes, "
                  "p.flops, r.outcome,"
                  " r.message, r.build_sha256, ifnull(m.launch_hash, ''), " +
                      columns_of<GpuRecord>("g") + ", " + columns_of<BuildResources>("b") + ", " +
                      columns_of<CheckRecord>("c") + ", " + columns_of<MeasurementRecord>("m") +
                      " FROM outcomes r JOIN sweeps s ON s.id = r.sweep"
                      " JOIN gpus g ON g.id = s.gpu JOIN problems p ON p.id = r.problem"
                      " JOIN operators o ON o.id = p.operator JOIN variants v ON v.id = r.variant"
                      " LEFT JOIN builds b ON b.id = r.build"
                      " LEFT JOIN checks c ON c.id = r.check_id"
                      " LEFT JOIN measurements m ON m.id = r.measurement"
                      " WHERE r.id IN (SELECT id FROM (SELECT id, method,"
                      " max(id) OVER same AS newest,"
                      " max(CASE WHEN method = '' THEN id ELSE 0 END) OVER same AS untimed"
                      " FROM (SELECT max(r2.id) AS id, s2.gpu AS gpu, r2.problem AS problem,"
                      " r2.variant AS variant, ifnull(m2.method, '') AS method FROM outcomes r2"
                      " JOIN sweeps s2 ON s2.id = r2.sweep"
                      " LEFT JOIN measurements m2 ON m2.id = r2.measurement WHERE " +
                      of_sweep + " AND " + of_operator +
                      " GROUP BY s2.gpu, r2.problem, r2.variant, m2.method)"
                      " WINDOW same AS (PARTITION BY gpu, problem, variant))"
                      " WHERE CASE WHEN method = '' THEN id = newest ELSE id > untimed END)"
                      " ORDER BY r.id",
                  sweep, op, problem);
}

Result<std::vector<BuildLogView>> Store::build_logs() {
  const auto read = [](Row& row) {
    BuildLogView view;
    row.read(view.sha256, view.log);
    return view;
  };
  return read_all(*database_, read,
                  "SELECT sha256, message FROM builds WHERE id IN (SELECT max(id) FROM builds"
                  " WHERE outcome = 'ok' AND message != '' AND sha256 != '' GROUP BY sha256)"
                  " ORDER BY id");
}

Result<std::vector<TunedView>> Store::tuned(const std::string& op) {
  MGTUNE_ASSIGN(std::vector<TunedView> picks,
                read_all(*database_, read_pick, picks_sql("?1 = '' OR o.name = ?1"), op));
  MGTUNE_TRY(add_copy_times(*this, picks));
  return picks;
}

Result<std::optional<TunedView>> Store::find_tuned(std::int64_t gpu, std::int64_t problem,
                                                   const std::string& method) {
  MGTUNE_ASSIGN(
      std::vector<TunedView> views,
      read_all(*database_, read_pick, picks_sql("t.gpu = ? AND t.problem = ? AND t.method = ?"),
               gpu, problem, method));
  MGTUNE_TRY(add_copy_times(*this, views));
  if (views.empty()) return std::optional<TunedView>();
  return std::optional(std::move(views.front()));
}

Result<std::vector<FailureView>> Store::failures(const std::string& op) {
  return read_failures(*database_, op);
}

}  // namespace mgtune
