// What the store knows: single results by their key, and the joined views of readers. Each is one
// SELECT, so each sees one state of the file however many processes write.

#include <string>

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"

namespace mgtune {
namespace {

constexpr std::string_view kCheckColumns = "c.outcome, c.message, c.error, c.tolerance";

CheckRecord read_check(Row& row) {
  CheckRecord check;
  check.outcome = row.outcome();
  check.message = row.text();
  check.error = row.real();
  check.tolerance = row.real();
  return check;
}

constexpr std::string_view kMeasurementColumns =
    "m.outcome, m.message, m.method, m.median_ns, m.q1_ns, m.q3_ns, m.min_ns, m.samples, m.note,"
    " m.median_low_ns, m.median_high_ns, m.sm_mhz, m.memory_mhz, m.power_w, m.temperature_c,"
    " m.throttle_reasons, m.throttled_samples";
constexpr int kMeasurementColumnCount = 17;

MeasurementRecord read_measurement(Row& row) {
  MeasurementRecord m;
  m.outcome = row.outcome();
  m.message = row.text();
  m.method = row.text();
  m.median_ns = row.real();
  m.q1_ns = row.real();
  m.q3_ns = row.real();
  m.min_ns = row.real();
  m.samples = row.integer();
  m.note = row.text();
  m.median_low_ns = row.real();
  m.median_high_ns = row.real();
  m.clocks = read_clocks(row);
  return m;
}

TunedView read_tuned(Row& row) {
  TunedView view;
  TunedRecord& tuned = view.tuned;
  tuned.sweep = row.integer();
  tuned.gpu = row.integer();
  tuned.problem = row.integer();
  tuned.variant = row.text();
  tuned.build_sha256 = row.text();
  tuned.default_variant = row.text();
  tuned.method = row.text();
  tuned.median_ns = row.real();
  tuned.default_median_ns = row.real();
  tuned.tie = row.integer() != 0;
  view.op = row.text();
  view.problem = row.text();
  view.bytes = row.real();
  view.flops = row.real();
  view.copy_ns = row.real();
  view.gpu = read_gpu(row);
  return view;
}

OutcomeView read_outcome(Row& row) {
  OutcomeView view;
  view.id = row.integer();
  view.recorded_at = row.text();
  view.sweep = row.integer();
  view.gpu_id = row.integer();
  view.op = row.text();
  view.problem = row.text();
  view.variant = row.text();
  view.bytes = row.real();
  view.flops = row.real();
  view.outcome = row.outcome();
  view.message = row.text();
  view.build_sha256 = row.text();
  view.registers = row.narrow();
  view.spill_bytes = row.narrow();
  view.static_shared_bytes = row.narrow();
  view.launch_hash = row.text();
  view.gpu = read_gpu(row);
  if (row.is_null()) {
    row.skip(4);
  } else {
    view.check = read_check(row);
  }
  if (row.is_null()) {
    row.skip(kMeasurementColumnCount);
  } else {
    view.measurement = read_measurement(row);
  }
  return view;
}

SweepView read_sweep(Row& row) {
  SweepView view;
  view.sweep.id = row.integer();
  view.sweep.gpu = row.integer();
  view.sweep.environment = row.integer();
  view.sweep.command = row.text();
  view.sweep.strategy = row.text();
  view.sweep.budget = row.text();
  view.sweep.started_at = row.text();
  view.sweep.finished_at = row.text();
  view.environment.mgtune_version = row.text();
  view.environment.compiler = row.text();
  view.environment.driver = row.text();
  view.environment.system = row.text();
  view.gpu = read_gpu(row);
  return view;
}

BuildRecord read_build(Row& row) {
  BuildRecord build;
  build.key = row.text();
  build.sha256 = row.text();
  build.arch = row.text();
  build.message = row.text();
  build.registers = row.narrow();
  build.spill_bytes = row.narrow();
  build.static_shared_bytes = row.narrow();
  build.outcome = row.outcome();
  return build;
}

}  // namespace

Result<std::optional<BuildRecord>> Store::find_build(const std::string& key) {
  return read_first(
      *database_, read_build,
      "SELECT key, sha256, arch, message, registers, spill_bytes, static_shared_bytes,"
      " outcome FROM builds WHERE key = ?",
      key);
}

Result<std::optional<CheckRecord>> Store::find_check(const ResultKey& key) {
  return read_first(*database_, read_check,
                    "SELECT " + std::string(kCheckColumns) +
                        " FROM checks c WHERE gpu = ? AND problem = ? AND build_sha256 = ?"
                        " AND launch_hash = ? AND reference_hash = ? ORDER BY id DESC LIMIT 1",
                    key.gpu, key.problem, key.build_sha256, key.launch_hash, key.reference_hash);
}

Result<std::optional<MeasurementRecord>> Store::find_measurement(const ResultKey& key,
                                                                 const std::string& method) {
  return read_first(*database_, read_measurement,
                    "SELECT " + std::string(kMeasurementColumns) +
                        " FROM measurements m WHERE gpu = ? AND problem = ? AND build_sha256 = ?"
                        " AND launch_hash = ? AND method = ? ORDER BY id DESC LIMIT 1",
                    key.gpu, key.problem, key.build_sha256, key.launch_hash, method);
}

Result<std::vector<SweepView>> Store::sweeps() {
  return read_all(
      *database_, read_sweep,
      "SELECT s.id, s.gpu, s.environment, s.command, s.strategy, s.budget,"
      " s.started_at, s.finished_at, e.mgtune_version, e.compiler, e.driver, e.system, " +
          std::string(kGpuColumns) +
          " FROM sweeps s JOIN environments e ON e.id = s.environment"
          " JOIN gpus g ON g.id = s.gpu ORDER BY s.id");
}

Result<std::vector<OutcomeView>> Store::outcomes(std::int64_t sweep, const std::string& op,
                                                 const std::string& problem) {
  // Only what is asked for is looked at: a condition that always holds would hide the indexes.
  const std::string of_sweep = sweep == 0 ? "?1 = 0" : "r2.sweep = ?1";
  const std::string of_operator =
      op.empty() ? "?2 = '' AND ?3 = ''"
                 : "r2.problem IN (SELECT p2.id FROM problems p2"
                   " JOIN operators o2 ON o2.id = p2.operator WHERE o2.name = ?2" +
                       std::string(problem.empty() ? " AND ?3 = ''" : " AND p2.text = ?3") + ")";
  return read_all(*database_, read_outcome,
                  "SELECT r.id, r.recorded_at, r.sweep, s.gpu, o.name, p.text, v.text, p.bytes, "
                  "p.flops, r.outcome,"
                  " r.message, r.build_sha256, ifnull(b.registers, -1), ifnull(b.spill_bytes, -1),"
                  " ifnull(b.static_shared_bytes, -1), ifnull(m.launch_hash, ''), " +
                      std::string(kGpuColumns) + ", " + std::string(kCheckColumns) + ", " +
                      std::string(kMeasurementColumns) +
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

Result<std::vector<TunedView>> Store::tuned(const std::string& op) {
  return read_all(
      *database_, read_tuned,
      "SELECT t.sweep, t.gpu, t.problem, v.text, t.build_sha256, ifnull(d.text, ''),"
      " t.method, t.median_ns, t.default_median_ns, t.tie, o.name, p.text, p.bytes,"
      " p.flops,"
      " ifnull((SELECT c.bytes * 1e9 / c.rate FROM ceilings c WHERE c.gpu = t.gpu"
      " AND c.kind = 'copy' AND c.method = t.method AND c.bytes = CAST(p.bytes AS INTEGER)"
      " ORDER BY c.id DESC LIMIT 1), 0), " +
          std::string(kGpuColumns) +
          " FROM tuned t JOIN gpus g ON g.id = t.gpu JOIN problems p ON p.id = t.problem"
          " JOIN operators o ON o.id = p.operator JOIN variants v ON v.id = t.variant"
          " LEFT JOIN variants d ON d.id = t.default_variant"
          " WHERE ?1 = '' OR o.name = ?1 ORDER BY o.name, t.problem, t.gpu, t.method",
      op);
}

}  // namespace mgtune
