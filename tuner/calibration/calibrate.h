// The ceilings of a GPU, which say what it can do at most: all of them, measured one after the
// other by the measure worker and recorded under a sweep of strategy "calibrate", or those that a
// problem's times are compared with. The parent process only; one thread.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "measure/measure_pool.h"
#include "store/store.h"
#include "sweep/sweep.h"

namespace mgtune {

struct SweepShared;

struct CeilingNeed {
  std::string kind;    // one of ceiling_kinds()
  std::string method;  // of the timing
  std::int64_t bytes = 0;
};

struct CalibrateProgress {
  std::int64_t done = 0, total = 0;
  CeilingNeed next;
};

struct CalibrateSummary {
  std::int64_t sweep_id = 0;
  std::vector<CeilingRecord> ceilings;  // in the order measured
  std::vector<std::string> lacking;     // sentences: ceilings that the GPU does not have
  std::vector<std::string> failed;      // "fp32: the worker was killed ..."
  bool stopped_early = false;
};

// Of `options`, the method, the command, the program and the folder of locks count. Each ceiling is
// recorded as soon as it is measured. If one fails, the others are still measured. unsupported for
// the cpu device, which emulates. environment if a sweep uses the GPU or no worker can use it. io
// and similar if the store cannot record the results.
Result<CalibrateSummary> calibrate(const SweepOptions& options, const DeviceInfo& device,
                                   Store& store,
                                   const std::function<void(const CalibrateProgress&)>& on_progress,
                                   const std::function<bool()>& should_stop);

// The ceiling that the store has for the GPU, measured with the same driver in the last 30 days.
Result<std::optional<CeilingRecord>> find_fresh_ceiling(Store& store, std::int64_t gpu,
                                                        const std::string& driver,
                                                        const CeilingNeed& need);

// Measured by the first of `workers`, by its own method. unsupported, with the reason, if the
// device does not have such a unit. launch_failed if the worker crashed, timeout if it did not
// finish in time, otherwise the worker's failure.
Result<CeilingRecord> request_ceiling(MeasurePool& workers, std::int64_t request_id,
                                      const CeilingNeed& need);

// A copy of the problem's bytes, which gives `view` its copy_ns, and the arithmetic peaks where
// arithmetic may limit the problem. To be called before the problem's first variant is measured: a
// problem of which everything is known needs none. It does nothing on the cpu device, and for a
// problem that moves no bytes.
Status measure_ceilings(SweepShared& shared, TunedView& view);

}  // namespace mgtune
