// Store: the SQLite database of results, and the only code that knows SQL.
//
// Every recorded variant is one transaction: a killed sweep loses at most the variant in flight.
// WAL where the file system allows it, DELETE mode on network file systems. Readers open read-only
// with trusted_schema=OFF. A newer schema is refused with the file untouched (incompatible), an
// older one is migrated in a transaction when opened for writing, in memory when read; a file that
// is not a database or fails its check is corrupt, and untouched. At rest a store is one file,
// without a log beside it. README.md specifies the tables.
//
// Move-only. One thread at a time per object; any number of processes at once per file.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "store/import.h"
#include "store/records.h"

namespace mgtune {

class Database;  // the RAII wrapper around sqlite3, private to this folder

// $MGTUNE_DB, else results.db in user_data_folder(). environment when there is no such folder.
Result<std::string> default_database_path();

// What a merge added.
struct MergeCounts {
  std::int64_t sweeps = 0, outcomes = 0;
  std::int64_t picks = 0;  // new, or of a later sweep than the one that was here
};

class Store {
 public:
  enum class Mode : std::uint8_t { read_only, read_write };

  // read_write creates the file and its folder. read_only: not_found when there is no file.
  static Result<Store> open(const std::string& path, Mode mode);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();  // NOLINT(bugprone-exception-escape): see its definition

  const std::string& path() const { return path_; }

  // The id of the row with exactly this content, inserted when new. A problem is its operator and
  // text: new bytes and flops (an edited cost formula) replace the old and void no result.
  Result<std::int64_t> gpu_id(const GpuRecord& gpu);
  Result<std::int64_t> environment_id(const EnvironmentRecord& environment);
  Result<std::int64_t> problem_id(const std::string& op, const std::string& problem, double bytes,
                                  double flops);

  Result<std::int64_t> begin_sweep(const SweepRecord& sweep);  // id is ignored
  Status finish_sweep(std::int64_t sweep, const std::string& finished_at);

  // What is known already; nullopt when nothing is.
  Result<std::optional<BuildRecord>> find_build(const std::string& key);
  Result<std::optional<CheckRecord>> find_check(const ResultKey& key);
  Result<std::optional<MeasurementRecord>> find_measurement(const ResultKey& key,
                                                            const std::string& method);

  // One transaction. Replaces the row of (sweep, problem, variant); a check or measurement equal to
  // the newest under its key is that one, reused. invalid_argument for an unknown problem.
  Status record(const OutcomeRecord& outcome);
  Status record_ceiling(std::int64_t sweep, std::int64_t gpu, const CeilingRecord& ceiling);
  Status record_final(const FinalRecord& final);  // replaces the one of (sweep, problem, method)
  // All counters of one run; replaces what the sweep recorded of them. The reference's hash is not
  // part of their key.
  Status record_counters(std::int64_t sweep, const ResultKey& key, const std::string& variant,
                         std::span<const CounterRecord> counters);
  // Those of all designs; replaces what the sweep recorded of the problem.
  Status record_spaces(std::int64_t sweep, std::int64_t problem,
                       std::span<const SpaceRecord> spaces);
  Status withdraw_tuned(std::int64_t gpu, std::int64_t problem, const std::string& method);
  Status record_tuned(const TunedRecord& tuned);  // replaces the row of (gpu, problem, method)

  // What was found elsewhere, all of it in one transaction or nothing. What a sweep of this store
  // found itself stays, and no sweep takes an imported row for a result of its own.
  Result<ImportCounts> import_results(const std::vector<ImportedSweep>& sweeps);

  // Adds what `sources` have and this store has not, the oldest source first, in one transaction;
  // what is here already stays as it is, so a second time nothing changes. Of two picks of a
  // problem that of the sweep which began last holds. incompatible, naming both files, where one
  // GPU's results come from another driver, compiler or mgtune; this store's own past is not asked.
  Result<MergeCounts> merge(const std::vector<Store>& sources);

  Result<std::vector<SweepView>> sweeps();  // oldest first
  // Newest outcome per (gpu, problem, variant) and method of timing; what came to no timing
  // replaces what is older by every method. Of one sweep, or of all with sweep == 0; of one
  // operator, or of all with an empty name; of one problem of the operator, or of all of its
  // problems with an empty text.
  Result<std::vector<OutcomeView>> outcomes(std::int64_t sweep = 0, const std::string& op = "",
                                            const std::string& problem = "");
  // Of one operator, or of all with an empty name.
  Result<std::vector<TunedView>> tuned(const std::string& op = "");
  // Likewise. What came to no timing replaces what is older by every method.
  Result<MeasuredRows> measured(const std::string& op = "");
  Result<std::vector<FinalView>> finals(const std::string& op = "");      // newest per problem
  Result<std::vector<CounterView>> counters(const std::string& op = "");  // newest per variant
  // Of the newest sweep of each GPU and problem, in the order they were recorded.
  Result<std::vector<SpaceView>> spaces(const std::string& op = "");
  // Those of the newest run that counted; none where nothing was.
  Result<std::vector<CounterRecord>> counters(const ResultKey& key);
  Result<std::vector<CeilingView>> ceilings(std::int64_t gpu);  // newest per kind, method and bytes

 private:
  Store(std::string path, Mode mode, std::unique_ptr<Database> database);
  Result<MeasuredRows> read_measured(const std::string& op);

  std::string path_;
  Mode mode_;
  std::unique_ptr<Database> database_;
};

}  // namespace mgtune
