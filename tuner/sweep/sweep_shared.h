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
#include "sweep/sweep_journal.h"

namespace mgtune {

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
  std::optional<CountProcess> counter;  // where finalists are to be counted
  int counters_refused = 0;             // problems in a row that the machine did not count
  SweepJournal journal;
  std::function<bool()> should_stop;

  SweepSummary summary;
  std::int64_t next_request = 1;
};

}  // namespace mgtune
