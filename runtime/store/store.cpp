#include "store/store.h"

#include "store/database.h"
#include "store/ids.h"
#include "store/store_file.h"
#include "store/write.h"
#include "system/user_folders.h"
#include "system/utc_now.h"

namespace mgtune {
namespace {

// A key stands for what went in, so a newer result of it (after a compiler crashed, say) replaces
// the older.
Result<std::int64_t> write_build(Database& database, const BuildRecord& build) {
  MGTUNE_ASSIGN(
      Statement rows,
      database.query("INSERT INTO builds (key, sha256, arch, outcome, message, registers,"
                     " spill_bytes, static_shared_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                     " ON CONFLICT (key) DO UPDATE SET sha256 = excluded.sha256,"
                     " arch = excluded.arch, outcome = excluded.outcome,"
                     " message = excluded.message,"
                     " registers = excluded.registers, spill_bytes = excluded.spill_bytes,"
                     " static_shared_bytes = excluded.static_shared_bytes RETURNING id",
                     build.key, build.sha256, build.arch, to_string(build.outcome), build.message,
                     build.registers, build.spill_bytes, build.static_shared_bytes));
  MGTUNE_ASSIGN(const bool found, rows.step());
  if (!found) return internal_error(database.path() + ": a build was not written");
  const std::int64_t id = rows.integer(0);
  MGTUNE_TRY(rows.run());
  return id;
}

// A sweep that reuses a result passes it in again: only what differs from the newest is a new row.
Result<std::int64_t> write_check(Database& database, const OutcomeRecord& record) {
  const ResultKey& key = record.key;
  const CheckRecord& check = *record.check;
  return id_of(database,
               "SELECT id FROM (SELECT * FROM checks WHERE gpu = ?2 AND problem = ?3"
               " AND build_sha256 = ?4 AND launch_hash = ?5 AND reference_hash = ?6"
               " ORDER BY id DESC LIMIT 1)"
               " WHERE outcome = ?7 AND message = ?8 AND error IS ?9 AND tolerance IS ?10",
               "INSERT INTO checks (sweep, gpu, problem, build_sha256, launch_hash, reference_hash,"
               " outcome, message, error, tolerance) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               record.sweep, key.gpu, key.problem, key.build_sha256, key.launch_hash,
               key.reference_hash, to_string(check.outcome), check.message, check.error,
               check.tolerance);
}

Result<std::int64_t> write_measurement(Database& database, const OutcomeRecord& record) {
  const ResultKey& key = record.key;
  const MeasurementRecord& m = *record.measurement;
  return id_of(database,
               "SELECT id FROM (SELECT * FROM measurements WHERE gpu = ?2 AND problem = ?3"
               " AND build_sha256 = ?4 AND launch_hash = ?5 AND method = ?6"
               " ORDER BY id DESC LIMIT 1)"
               " WHERE outcome = ?7 AND message = ?8 AND median_ns IS ?9 AND q1_ns IS ?10"
               " AND q3_ns IS ?11 AND min_ns IS ?12 AND samples = ?13 AND note = ?14"
               " AND median_low_ns IS ?15 AND median_high_ns IS ?16 AND sm_mhz IS ?17"
               " AND memory_mhz IS ?18 AND power_w IS ?19 AND temperature_c IS ?20"
               " AND throttle_reasons = ?21 AND throttled_samples = ?22",
               "INSERT INTO measurements (sweep, gpu, problem, build_sha256, launch_hash, method,"
               " outcome, message, median_ns, q1_ns, q3_ns, min_ns, samples, note, median_low_ns,"
               " median_high_ns, sm_mhz, memory_mhz, power_w, temperature_c, throttle_reasons,"
               " throttled_samples)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               record.sweep, key.gpu, key.problem, key.build_sha256, key.launch_hash, m.method,
               to_string(m.outcome), m.message, m.median_ns, m.q1_ns, m.q3_ns, m.min_ns, m.samples,
               m.note, m.median_low_ns, m.median_high_ns, m.clocks.sm_mhz, m.clocks.memory_mhz,
               m.clocks.power_w, m.clocks.temperature_c, m.clocks.throttle_reasons,
               m.clocks.throttled_samples);
}

}  // namespace

Status write_outcome(Database& database, const OutcomeRecord& outcome,
                     const std::string& recorded_at) {
  MGTUNE_ASSIGN(const std::int64_t op, operator_of_problem(database, outcome.key.problem));
  MGTUNE_ASSIGN(const std::int64_t variant, variant_id(database, op, outcome.variant));
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
  MGTUNE_ASSIGN(Statement insert,
                database.query("INSERT OR REPLACE INTO outcomes (sweep, problem, variant, outcome,"
                               " message, build_sha256, build, check_id, measurement, recorded_at)"
                               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                               outcome.sweep, outcome.key.problem, variant,
                               to_string(outcome.outcome), outcome.message,
                               outcome.key.build_sha256, build, check, measurement, recorded_at));
  return insert.run();
}

Status write_tuned(Database& database, const TunedRecord& tuned) {
  MGTUNE_ASSIGN(const std::int64_t op, operator_of_problem(database, tuned.problem));
  MGTUNE_ASSIGN(const std::int64_t variant, variant_id(database, op, tuned.variant));
  std::optional<std::int64_t> default_variant;
  if (!tuned.default_variant.empty()) {
    MGTUNE_ASSIGN(default_variant, variant_id(database, op, tuned.default_variant));
  }
  MGTUNE_ASSIGN(Statement insert,
                database.query("INSERT OR REPLACE INTO tuned (sweep, gpu, problem, method, variant,"
                               " build_sha256, default_variant, median_ns, default_median_ns, tie)"
                               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                               tuned.sweep, tuned.gpu, tuned.problem, tuned.method, variant,
                               tuned.build_sha256, default_variant, tuned.median_ns,
                               tuned.default_median_ns, tuned.tie));
  return insert.run();
}

Result<std::string> default_database_path() {
  if (std::string file = environment_variable("MGTUNE_DB"); !file.empty()) return file;
  const std::string folder = user_data_folder();
  if (!folder.empty()) return folder + "/results.db";
  return environment_error(
      "there is no place for the results database: neither XDG_DATA_HOME nor HOME is set; set "
      "XDG_DATA_HOME, or name the database (--db, MGTUNE_DB)");
}

Store::Store(std::string path, Mode mode, std::unique_ptr<Database> database)
    : path_(std::move(path)), mode_(mode), database_(std::move(database)) {}

Store::Store(Store&&) noexcept = default;

Store& Store::operator=(Store&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(mode_, other.mode_);
  std::swap(database_, other.database_);
  return *this;
}

// NOLINTNEXTLINE(bugprone-exception-escape): it would throw only where memory has run out
Store::~Store() {
  if (database_ != nullptr && mode_ == Mode::read_write) leave_at_rest(*database_);
}

Result<Store> Store::open(const std::string& path, Mode mode) {
  MGTUNE_ASSIGN(auto database, open_store_file(path, mode));
  return Store(path, mode, std::move(database));
}

Result<std::int64_t> Store::gpu_id(const GpuRecord& gpu) {
  return id_of(*database_,
               "SELECT id FROM gpus WHERE model = ? AND arch = ? AND sm_count = ? AND l2_bytes = ?"
               " AND memory_bytes = ? AND max_shared_bytes = ? AND mig_profile = ?"
               " AND emulation = ?",
               "INSERT OR IGNORE INTO gpus (model, arch, sm_count, l2_bytes, memory_bytes,"
               " max_shared_bytes, mig_profile, emulation) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
               gpu.model, gpu.arch, gpu.sm_count, gpu.l2_bytes, gpu.memory_bytes,
               gpu.max_shared_bytes, gpu.mig_profile, gpu.emulation);
}

Result<std::int64_t> Store::environment_id(const EnvironmentRecord& environment) {
  return id_of(*database_,
               "SELECT id FROM environments WHERE mgtune_version = ? AND compiler = ?"
               " AND driver = ? AND system = ?",
               "INSERT OR IGNORE INTO environments (mgtune_version, compiler, driver, system)"
               " VALUES (?, ?, ?, ?)",
               environment.mgtune_version, environment.compiler, environment.driver,
               environment.system);
}

Result<std::int64_t> Store::problem_id(const std::string& op, const std::string& problem,
                                       double bytes, double flops) {
  MGTUNE_ASSIGN(const std::int64_t op_id, operator_id(*database_, op));
  MGTUNE_ASSIGN(const std::int64_t id,
                id_of(*database_, "SELECT id FROM problems WHERE operator = ?1 AND text = ?2",
                      "INSERT OR IGNORE INTO problems (operator, text, bytes, flops)"
                      " VALUES (?1, ?2, 0, 0)",
                      op_id, problem));
  MGTUNE_ASSIGN(Statement update,
                database_->query("UPDATE problems SET bytes = ?1, flops = ?2"
                                 " WHERE id = ?3 AND (bytes <> ?1 OR flops <> ?2)",
                                 bytes, flops, id));
  MGTUNE_TRY(update.run());
  return id;
}

Result<std::int64_t> Store::begin_sweep(const SweepRecord& sweep) {
  MGTUNE_ASSIGN(Statement insert,
                database_->query("INSERT INTO sweeps (gpu, environment, command, strategy, budget,"
                                 " started_at, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                                 sweep.gpu, sweep.environment, sweep.command, sweep.strategy,
                                 sweep.budget, sweep.started_at, sweep.finished_at));
  MGTUNE_TRY(insert.run());
  return database_->last_insert_id();
}

Status Store::finish_sweep(std::int64_t sweep, const std::string& finished_at) {
  MGTUNE_ASSIGN(Statement update, database_->query("UPDATE sweeps SET finished_at = ? WHERE id = ?",
                                                   finished_at, sweep));
  MGTUNE_TRY(update.run());
  if (database_->changed_rows() == 1) return {};
  return invalid_argument(path_ + ": no sweep has the id " + std::to_string(sweep));
}

Status Store::record(const OutcomeRecord& outcome) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_TRY(write_outcome(*database_, outcome, utc_now_ms()));
  return transaction.commit();
}

Status Store::withdraw_tuned(std::int64_t gpu, std::int64_t problem, const std::string& method) {
  MGTUNE_ASSIGN(Statement remove,
                database_->query("DELETE FROM tuned WHERE gpu = ? AND problem = ? AND method = ?",
                                 gpu, problem, method));
  return remove.run();
}

Status Store::record_tuned(const TunedRecord& tuned) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_TRY(write_tuned(*database_, tuned));
  return transaction.commit();
}

}  // namespace mgtune
