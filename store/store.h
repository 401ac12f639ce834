// Store: the SQLite database of results.
//
// Results that arrive together are recorded in one transaction, so a sweep that is killed loses at
// most the variants that it is working on. On a local file system the store uses a write-ahead log
// (WAL), on a network file system DELETE mode. While nobody uses a store, it is a single file,
// without a log beside it. README.md describes the tables.
//
// A file with a newer format is refused (incompatible). A file that is not a database, or that
// fails SQLite's check, is refused too (corrupt). Both stay unchanged. A file with an older format
// is migrated: a writer migrates the file itself in one transaction, a reader migrates a copy in
// memory.
//
// Move-only. One thread at a time may use an object. Any number of processes may use a file at
// once.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "store/import.h"
#include "store/views.h"

namespace mgtune {

class Database;  // the RAII wrapper around sqlite3 (runtime/database/)

// The numbers of rows that a merge added.
struct MergeCounts {
  std::int64_t sweeps = 0, outcomes = 0;
  std::int64_t picks = 0;  // new picks, and picks that replaced another one

  // Problems of which shards have different picks, and which no final has decided yet.
  std::int64_t undecided = 0;
};

// The strategy in the row of a sweep that searches nothing and decides between the results that the
// store has (`mgtune sweep --finals`).
inline constexpr std::string_view kFinalsStrategy = "finals";

class Store {
 public:
  enum class Mode : std::uint8_t { read_only, read_write };

  // read_write creates the file and its folder if they do not exist. read_only fails with not_found
  // if there is no file. The other failures are corrupt, incompatible (a newer format, or the file
  // of another program) and io.
  static Result<Store> open(const std::string& path, Mode mode);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();  // NOLINT(bugprone-exception-escape): see its definition

  const std::string& path() const { return path_; }

  // The id of the row with exactly this content. If there is none, the row is added. The operator
  // and the text identify a problem. If its bytes or flops differ from the stored ones, because a
  // cost formula was edited, they are replaced, and all results of the problem stay valid.
  Result<std::int64_t> gpu_id(const GpuRecord& gpu);
  Result<std::int64_t> environment_id(const EnvironmentRecord& environment);
  Result<std::int64_t> problem_id(const std::string& op, const std::string& problem, double bytes,
                                  double flops);

  // Adds the sweep and returns its id. The member `id` of the argument is ignored.
  Result<std::int64_t> begin_sweep(const SweepRecord& sweep);
  Status finish_sweep(std::int64_t sweep, const std::string& finished_at);

  // The stored result with this key, the newest if there are several; nullopt if there is none.
  Result<std::optional<BuildRecord>> find_build(const std::string& key);
  Result<std::optional<CheckRecord>> find_check(const ResultKey& key);
  Result<std::optional<MeasurementRecord>> find_measurement(const ResultKey& key,
                                                            const std::string& method);

  // Records an outcome with its build, check and measurement in one transaction. It replaces an
  // earlier outcome of the same sweep, problem and variant. If the check or the measurement is
  // equal to the newest one with its key, no row is added: the outcome refers to the existing row.
  // invalid_argument if the store does not have the problem.
  Status record(const OutcomeRecord& outcome) { return record(std::span(&outcome, 1)); }
  // Records several outcomes in one transaction: all or none.
  Status record(std::span<const OutcomeRecord> outcomes);
  Status record_ceiling(std::int64_t sweep, std::int64_t gpu, const CeilingRecord& ceiling);
  // Replaces the final of the same sweep, problem and method.
  Status record_final(const FinalRecord& final);
  // Records all counters of one run. It replaces the counters that this sweep has recorded for the
  // same key. The reference_hash of the key is not used.
  Status record_counters(std::int64_t sweep, const ResultKey& key, const std::string& variant,
                         std::span<const CounterRecord> counters);
  // Records the spaces of all designs. It replaces the spaces that the sweep has recorded for the
  // problem.
  Status record_spaces(std::int64_t sweep, std::int64_t problem,
                       std::span<const SpaceRecord> spaces);
  // Replaces the metrics of the problem (a row id).
  Status record_metrics(std::int64_t problem, std::span<const MetricRecord> metrics);
  // Deletes the pick of this GPU, problem and method.
  Status withdraw_tuned(std::int64_t gpu, std::int64_t problem, const std::string& method);
  // Replaces the pick of the same GPU, problem and method.
  Status record_tuned(const TunedRecord& tuned);

  // The pick and the newest final of this GPU, problem (row ids) and method; nullopt if there is
  // none.
  Result<std::optional<TunedView>> find_tuned(std::int64_t gpu, std::int64_t problem,
                                              const std::string& method);
  Result<std::optional<FinalRecord>> find_final(std::int64_t gpu, std::int64_t problem,
                                                const std::string& method);

  // Adds results that were measured elsewhere, all in one transaction. It does not replace results
  // that sweeps of this store measured. Sweeps measure a variant even if there is an imported
  // result of it.
  Result<ImportCounts> import_results(const std::vector<ImportedSweep>& sweeps);

  // Adds times of other implementations, all in one transaction. Rows that the store has already
  // stay as they are, also if they came from another file.
  Result<PeerCounts> import_peers(const std::vector<PeerView>& peers);

  // Adds the rows of these files that this store does not have, in one transaction. The file whose
  // first sweep began earliest comes first. One file is open at a time, so the memory that it takes
  // does not grow with their number. Rows that this store has stay unchanged, so a second merge of
  // the same files changes nothing. There are two exceptions. If a sweep was still running when it
  // was merged before, its end is added. If two files have a pick for the same GPU, problem and
  // method, the pick of the sweep that began last is kept, and a pick of a sweep is kept over an
  // imported one. Of two picks of shards, the one with the shorter time is kept.
  //
  // It fails as open() does if one of the files cannot be read. Then nothing was added.
  //
  // incompatible, with the names of both files, if results of the same GPU were measured with
  // different drivers, compilers or versions of mgtune. Of this store, only the newest sweep on
  // each GPU is compared.
  Result<MergeCounts> merge(const std::vector<std::string>& files);

  Result<std::vector<SweepView>> sweeps();  // oldest first
  // The newest outcome of each GPU, problem, variant and timing method. A newer outcome without a
  // timing (for example a crash) replaces the older outcomes of all methods. The arguments select a
  // sweep (0: all), an operator ("": all) and a problem of that operator ("": all).
  Result<std::vector<OutcomeView>> outcomes(std::int64_t sweep = 0, const std::string& op = "",
                                            const std::string& problem = "");

  // The log of each binary that has one: the newest, if several builds gave the same binary. Every
  // build of a GPU has one, because it has the report of ptxas.
  Result<std::vector<BuildLogView>> build_logs();

  // The functions from here to metrics() read the rows of one operator, or of all if `op` is empty.
  Result<std::vector<TunedView>> tuned(const std::string& op = "");
  // The results of all variants in a compact form. As in outcomes(), only the newest ones are
  // returned, and a newer outcome without a time replaces the older outcomes of all methods.
  Result<MeasuredRows> measured(const std::string& op = "");
  // The variants that were wrong, crashed, did not end or could not be launched, unless a newer
  // result on the same problem and GPU says otherwise. One indexed query, however many results
  // there are.
  Result<std::vector<FailureView>> failures(const std::string& op = "");
  // The newest final of each GPU, problem and method.
  Result<std::vector<FinalView>> finals(const std::string& op = "");
  // The counters of the newest sweep that counted, for each GPU, problem and variant.
  Result<std::vector<CounterView>> counters(const std::string& op = "");
  // The spaces of the newest sweep of each GPU and problem, in the order in which they were
  // recorded.
  Result<std::vector<SpaceView>> spaces(const std::string& op = "");

  // The newest time of each problem, GPU, implementation, version and method; a row without a date
  // is older than one with a date. By operator and problem, then the fastest first.
  Result<std::vector<PeerView>> peers(const std::string& op = "");
  // The metrics of each problem that has any.
  Result<std::vector<MetricsView>> metrics(const std::string& op = "");

  // The counters of the newest sweep that counted this build and launch; empty if there are none.
  Result<std::vector<CounterRecord>> counters(const ResultKey& key);
  // The newest ceiling of each kind, method and number of bytes.
  Result<std::vector<CeilingView>> ceilings(std::int64_t gpu);

 private:
  Store(std::string path, Mode mode, std::unique_ptr<Database> database);

  std::string path_;
  Mode mode_;
  std::unique_ptr<Database> database_;
};

}  // namespace mgtune
