// Calibrate: every ceiling of one GPU, measured one after the other by the measure worker and
// recorded under a sweep of strategy "calibrate". The parent process only; one thread.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/problem_ceilings.h"
#include "core/status.h"
#include "device/device.h"
#include "store/store.h"
#include "sweep/sweep.h"

namespace mgtune {

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

}  // namespace mgtune
