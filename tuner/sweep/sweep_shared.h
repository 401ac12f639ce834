// SweepShared: what the problems of one sweep share. Owned by run_sweep(), whose options, device
// and store outlive it; one thread.

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
#include "measure/count_process.h"
#include "measure/measure_pool.h"
#include "sweep/sweep.h"

namespace mgtune {

// The sweep's own row in the store. It is begun with the first thing that is recorded under it: a
// sweep that finds everything known leaves no row.
class SweepJournal {
 public:
  SweepJournal(Store& store, const SweepOptions& options, const DeviceInfo& device,
               std::int64_t gpu_id)
      : store_(store), options_(options), device_(device), gpu_id_(gpu_id) {}

  Result<std::int64_t> begin();                  // the sweep, begun when it has not; its id
  Status finish();                               // nothing when it never began
  std::int64_t id() const { return sweep_id_; }  // 0: not begun

 private:
  Store& store_;
  const SweepOptions& options_;
  const DeviceInfo& device_;
  std::int64_t gpu_id_;
  std::int64_t sweep_id_ = 0;
};

struct SweepShared {
  const SweepOptions& options;
  const DeviceInfo& device;  // the first of those at work, which are all of one model
  Store& store;
  std::int64_t gpu_id;
  GpuRecord gpu;
  Builder builder;
  BuildCache cache;
  CompilePool pool;
  MeasurePool workers;
  std::optional<CountProcess> counter = {};  // where finalists are to be counted
  int counters_refused = 0;                  // problems in a row that the machine did not count
  SweepJournal journal;
  std::function<bool()> should_stop;

  SweepSummary summary = {};
  std::int64_t next_request = 1;
};

}  // namespace mgtune
