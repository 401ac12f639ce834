// Measures the ceilings of a GPU, the highest rates that it reaches. calibrate() measures all of
// them and records them under a sweep with the strategy "calibrate". measure_ceilings() measures
// only the ceilings that the times of one problem are compared with. A measure worker does the
// measuring; this code runs in the parent process. One thread.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "measure/measure_pool.h"
#include "store/copy_times.h"
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
  std::vector<CeilingRecord> ceilings;  // in the order measured
  std::vector<std::string> lacking;     // sentences: ceilings that the GPU does not have
  std::vector<std::string> failed;      // "fp32: the worker was killed ..."
  bool stopped_early = false;
};

// Uses these members of `options`: method, command, program and lock_directory. Each ceiling is
// recorded as soon as it is measured. If one fails, the others are still measured. The result is
// unsupported for the cpu device, which only emulates. It is environment if a sweep uses the GPU,
// or if no worker can use the GPU. If the store cannot record the results, it is the store's
// failure.
Result<CalibrateSummary> calibrate(const SweepOptions& options, const DeviceInfo& device,
                                   Store& store,
                                   const std::function<void(const CalibrateProgress&)>& on_progress,
                                   const std::function<bool()>& should_stop);

// The ceiling that the store has for the GPU, measured with the same driver in the last 30 days.
Result<std::optional<CeilingRecord>> find_fresh_ceiling(Store& store, std::int64_t gpu,
                                                        const std::string& driver,
                                                        const CeilingNeed& need);

// The copies of all sizes that the store has, measured with the same driver in the last 30 days.
Result<CopyTimes> fresh_copies(Store& store, std::int64_t gpu, const std::string& driver,
                               const std::string& method);

// Measures a ceiling with the first of `workers` and its timing method. unsupported, with the
// reason, if the device does not have a unit for this arithmetic. launch_failed, with the reason,
// if the worker crashed or did not finish in time. Otherwise the failure of the worker.
Result<CeilingRecord> request_ceiling(MeasurePool& workers, std::int64_t request_id,
                                      const CeilingNeed& need);

// The arithmetic ceilings that may limit a problem, which does `operations_per_byte` operations for
// each byte that it moves. Each tensor-core ceiling belongs to one dtype, so it is only returned if
// `dtypes` has this dtype.
std::vector<std::string> arithmetic_ceilings_of(double operations_per_byte,
                                                const std::set<DType>& dtypes);

// Measures the ceilings of one problem. From the measured copies it computes the time of a copy
// that moves as many bytes as the problem, and stores this time in view.copy_ns
// (store/copy_times.h). It also measures the arithmetic_ceilings_of() the problem. `view` belongs
// to the problem. Call this function before the first variant of the problem is measured. If no
// variant must be measured, no ceiling is needed. The function does nothing on the cpu device, and
// for a problem that moves no bytes.
Status measure_ceilings(SweepShared& shared, const Problem& problem, TunedView& view);

}  // namespace mgtune
