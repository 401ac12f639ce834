#include "store/store.h"

#include "database/database.h"
#include "store/file/store_file.h"
#include "store/transaction.h"
#include "store/write.h"
#include "system/utc_now.h"

namespace mgtune {

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

Result<std::int64_t> Store::gpu_id(const GpuRecord& gpu) { return id_of_gpu(*database_, gpu); }

Result<std::int64_t> Store::environment_id(const EnvironmentRecord& environment) {
  return id_of(*database_, "environments", TableRow().add(environment));
}

Result<std::int64_t> Store::problem_id(const std::string& op, const std::string& problem,
                                       double bytes, double flops) {
  MGTUNE_ASSIGN(const std::int64_t op_id, id_of(*database_, "operators", TableRow({{"name", op}})));
  MGTUNE_ASSIGN(const std::int64_t id,
                id_of(*database_, "problems", TableRow({{"operator", op_id}, {"text", problem}}),
                      TableRow({{"bytes", 0.0}, {"flops", 0.0}})));
  MGTUNE_ASSIGN(Statement update,
                database_->query("UPDATE problems SET bytes = ?1, flops = ?2"
                                 " WHERE id = ?3 AND (bytes <> ?1 OR flops <> ?2)",
                                 bytes, flops, id));
  MGTUNE_TRY(update.run());
  return id;
}

Result<std::int64_t> Store::begin_sweep(const SweepRecord& sweep) {
  return TableRow({{"gpu", sweep.gpu}, {"environment", sweep.environment}})
      .add(sweep)
      .insert(*database_, "INSERT INTO sweeps");
}

Status Store::finish_sweep(std::int64_t sweep, const std::string& finished_at) {
  MGTUNE_ASSIGN(Statement update, database_->query("UPDATE sweeps SET finished_at = ? WHERE id = ?",
                                                   finished_at, sweep));
  MGTUNE_TRY(update.run());
  if (database_->changed_rows() == 1) return {};
  return invalid_argument(path_ + ": no sweep has the id " + std::to_string(sweep));
}

Status Store::record(std::span<const OutcomeRecord> outcomes) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  for (const OutcomeRecord& outcome : outcomes) {
    MGTUNE_TRY(write_outcome(*database_, outcome, utc_now_ms()));
  }
  return transaction.commit();
}

Status Store::withdraw_tuned(std::int64_t gpu, std::int64_t problem, const std::string& method) {
  return TableRow({{"gpu", gpu}, {"problem", problem}, {"method", method}})
      .erase(*database_, "tuned");
}

Status Store::record_tuned(const TunedRecord& tuned) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_TRY(write_tuned(*database_, tuned));
  return transaction.commit();
}

}  // namespace mgtune
