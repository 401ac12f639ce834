// SweepShared: the objects that all problems of one sweep use. run_sweep() owns it. The options,
// the device and the store must outlive it. One thread.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "build/builder.h"
#include "compile/compile_pool.h"
#include "measure/measure_pool.h"
#include "selection/usable_rows.h"
#include "sweep/known_results.h"
#include "sweep/sweep.h"
#include "worker/worker_process.h"

namespace mgtune {

// The row of the sweep in the store, and the results that are not yet written. The row is added
// when the first result is recorded under it. So a sweep that has nothing new to record adds no
// row.
class SweepJournal {
 public:
  SweepJournal(Store& store, const SweepOptions& options, const DeviceInfo& device,
               std::int64_t gpu_id)
      : store_(store), options_(options), device_(device), gpu_id_(gpu_id) {}

  Result<std::int64_t> begin();                  // adds the row if there is none; returns its id
  Status add(OutcomeRecord outcome);             // a result of this sweep, for the next write()
  Status write();                                // in one transaction
  Status finish();                               // does nothing without a row
  std::int64_t id() const { return sweep_id_; }  // 0: not begun

 private:
  Store& store_;
  const SweepOptions& options_;
  const DeviceInfo& device_;
  std::int64_t gpu_id_;
  std::int64_t sweep_id_ = 0;
  std::vector<OutcomeRecord> unwritten_;
};

struct SweepShared {
  const SweepOptions& options;
  const DeviceInfo& device;  // the first of the devices, which are all of one model
  Store& store;
  std::int64_t gpu_id;
  Builder builder;
  BuildCache cache;
  CompilePool pool;
  MeasurePool workers;
  std::optional<WorkerProcess> counter = {};  // reads the counters of finalists, with --counters
  int counters_refused = 0;  // how many problems in a row the machine refused to count
  SweepJournal journal;
  std::function<bool()> should_stop;

  Retries retries = {};
  SweepSummary summary = {};
  std::int64_t next_request = 1;
  std::map<std::string, std::int64_t> compiling = {};  // the request of each running build, by key
  std::string not_cached = {};  // why the cache could not keep a build (the first such build)

  // The signal that asks this process to stop may reach the workers as well. A failure that comes
  // together with it says nothing about the variant or the machine.
  Status interrupted_or(Status failure) const {
    return should_stop() ? Status() : std::move(failure);
  }

  // The view's problem, as requests to workers name it.
  NamedProblem named_problem(const TunedView& view) const {
    return {options.kernel.empty() ? view.op : options.kernel, view.op, view.problem};
  }
};

// The variants of the pick's operator that are never run, because they failed at some problem.
Result<FailedVariants> read_failed_variants(SweepShared& shared, const TunedView& pick);

}  // namespace mgtune
