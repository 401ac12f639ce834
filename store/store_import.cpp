// Imports results that were measured elsewhere. The row of a sweep is written together with the
// first of its picks and outcomes. So importing a file again adds no sweep without results.

#include <map>
#include <utility>

#include "database/database.h"
#include "database/row.h"
#include "store/store.h"
#include "store/transaction.h"
#include "store/write.h"

namespace mgtune {
namespace {

struct StoredOutcome {
  bool imported = false;
  Outcome outcome = Outcome::ok;
  std::optional<MeasurementRecord> measurement;
};

StoredOutcome read_stored_outcome(Row& row) {
  StoredOutcome stored;
  stored.imported = row.text() == kImportStrategy;
  row.read(stored.outcome, stored.measurement);
  return stored;
}

class Import {
 public:
  Import(Store& store, Database& database, const ImportedSweep& sweep, ImportCounts& counts)
      : store_(store), database_(database), sweep_(sweep), counts_(counts) {}

  Status run() {
    MGTUNE_ASSIGN(gpu_, store_.gpu_id(sweep_.gpu));
    for (const TunedView& pick : sweep_.picks) MGTUNE_TRY(add(pick));
    for (const ImportedOutcome& outcome : sweep_.outcomes) MGTUNE_TRY(add(outcome));
    return {};
  }

 private:
  Result<std::int64_t> begin_sweep() {
    if (sweep_id_ != 0) return sweep_id_;
    SweepRecord record;
    record.gpu = gpu_;
    MGTUNE_ASSIGN(record.environment, store_.environment_id(sweep_.environment));
    record.command = sweep_.command;
    record.strategy = kImportStrategy;
    record.started_at = record.finished_at = sweep_.measured_at;
    MGTUNE_ASSIGN(sweep_id_, store_.begin_sweep(record));
    return sweep_id_;
  }

  // The store is asked once per problem, because a recording has thousands of rows of one problem.
  Result<std::int64_t> problem_id(const ProblemRecord& problem) {
    std::int64_t& id = problem_ids_[{problem.op, problem.text}];
    if (id == 0) {
      MGTUNE_ASSIGN(id, store_.problem_id(problem.op, problem.text, problem.bytes, problem.flops));
    }
    return id;
  }

  // The counter to increase if the pick is not written: because the store has its own result, or
  // because the same pick was imported before. Null if the pick must be written.
  Result<std::int64_t*> counter_if_kept(TunedRecord& tuned) {
    MGTUNE_ASSIGN(const std::optional<TunedView> stored,
                  store_.find_tuned(tuned.gpu, tuned.problem, tuned.method));
    if (!stored) return nullptr;
    MGTUNE_ASSIGN(const std::optional<std::string> strategy,
                  read_first(database_, &Row::text, "SELECT strategy FROM sweeps WHERE id = ?",
                             stored->tuned.sweep));
    if (strategy != kImportStrategy) return &counts_.picks_kept;
    tuned.sweep = stored->tuned.sweep;
    return stored->tuned == tuned ? &counts_.known : nullptr;
  }

  // The same for an outcome. Outcomes by the same method are compared, and outcomes without a
  // timing, which count for every method.
  Result<std::int64_t*> counter_if_kept(const ImportedOutcome& outcome, std::int64_t problem) {
    MGTUNE_ASSIGN(const std::int64_t variant, variant_id(database_, problem, outcome.variant));
    const std::string method = outcome.measurement ? outcome.measurement->method : "";
    // CROSS JOIN makes SQLite start at the few sweeps and continue with the unique index of
    // outcomes.
    MGTUNE_ASSIGN(
        const std::vector<StoredOutcome> stored,
        read_all(database_, read_stored_outcome,
                 "SELECT s.strategy, r.outcome, " + columns_of<MeasurementRecord>("m") +
                     " FROM sweeps s CROSS JOIN outcomes r"
                     " LEFT JOIN measurements m ON m.id = r.measurement"
                     " WHERE s.gpu = ?1 AND r.sweep = s.id AND r.problem = ?2 AND r.variant = ?3"
                     " AND (m.method IS NULL OR ?4 = '' OR m.method = ?4) ORDER BY r.id DESC",
                 gpu_, problem, variant, method));
    if (stored.empty()) return nullptr;
    for (const StoredOutcome& row : stored) {
      if (!row.imported) return &counts_.outcomes_kept;
    }
    const bool is_same = stored.front().outcome == outcome.outcome &&
                         stored.front().measurement == outcome.measurement;
    return is_same ? &counts_.known : nullptr;
  }

  Status add(const TunedView& pick) {
    TunedRecord tuned = pick.tuned;
    tuned.gpu = gpu_;
    MGTUNE_ASSIGN(tuned.problem, problem_id({pick.op, pick.problem, pick.bytes, pick.flops}));
    MGTUNE_ASSIGN(std::int64_t* const kept, counter_if_kept(tuned));
    if (kept != nullptr) {
      ++*kept;
      return {};
    }
    MGTUNE_ASSIGN(tuned.sweep, begin_sweep());
    ++counts_.picks;
    return write_tuned(database_, tuned);
  }

  Status add(const ImportedOutcome& outcome) {
    MGTUNE_ASSIGN(const std::int64_t problem, problem_id(outcome.problem));
    MGTUNE_ASSIGN(std::int64_t* const kept, counter_if_kept(outcome, problem));
    if (kept != nullptr) {
      ++*kept;
      return {};
    }
    OutcomeRecord record;
    MGTUNE_ASSIGN(record.sweep, begin_sweep());
    record.key.gpu = gpu_;
    record.key.problem = problem;
    record.key.build_sha256 = kImportedBuild;
    record.key.launch_hash = outcome.variant;
    record.variant = outcome.variant;
    record.outcome = outcome.outcome;
    record.measurement = outcome.measurement;
    ++counts_.outcomes;
    return write_outcome(database_, record, "");
  }

  Store& store_;
  Database& database_;
  const ImportedSweep& sweep_;
  ImportCounts& counts_;
  std::int64_t gpu_ = 0;
  std::int64_t sweep_id_ = 0;  // 0: not begun
  std::map<std::pair<std::string, std::string>, std::int64_t> problem_ids_;
};

}  // namespace

Result<ImportCounts> Store::import_results(const std::vector<ImportedSweep>& sweeps) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  ImportCounts counts;
  for (const ImportedSweep& sweep : sweeps) {
    MGTUNE_TRY(Import(*this, *database_, sweep, counts).run());
  }
  MGTUNE_TRY(transaction.commit());
  return counts;
}

}  // namespace mgtune
