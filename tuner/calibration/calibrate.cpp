#include "calibration/calibrate.h"

#include <chrono>
#include <utility>

#include "ceilings/ceiling.h"
#include "selection/variant_selection.h"
#include "sweep/device_lock.h"
#include "sweep/sweep_journal.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMinBytes = 1 << 20;
constexpr std::int64_t kMaxBytes = 512 << 20;

// A dozen kernels to compile and a dozen shapes to time, of which none takes a second.
constexpr std::chrono::seconds kDeadline{120};

std::string name_of(const CeilingNeed& need) {
  if (!is_memory_ceiling(need.kind)) return need.kind;
  return need.kind + " of " + std::to_string(need.bytes >> 20) + " MiB";
}

// Copy and read of 1 MiB to 512 MiB in powers of two, then the rest.
std::vector<CeilingNeed> calibration_plan(const std::string& method) {
  std::vector<CeilingNeed> plan;
  for (const std::string& kind : ceiling_kinds()) {
    if (!is_memory_ceiling(kind)) {
      plan.push_back({kind, method, 0});
      continue;
    }
    for (std::int64_t bytes = kMinBytes; bytes <= kMaxBytes; bytes *= 2) {
      plan.push_back({kind, method, bytes});
    }
  }
  return plan;
}

}  // namespace

Result<CalibrateSummary> calibrate(const SweepOptions& options, const DeviceInfo& device,
                                   Store& store,
                                   const std::function<void(const CalibrateProgress&)>& on_progress,
                                   const std::function<bool()>& should_stop) {
  if (device.kind == DeviceKind::cpu) {
    return unsupported("the cpu device emulates a GPU: it has no ceilings to measure");
  }
  MGTUNE_ASSIGN(const DeviceLock lock, DeviceLock::acquire(options.lock_directory, device.id));
  MGTUNE_ASSIGN(const std::int64_t gpu, store.gpu_id(gpu_record(device)));
  SweepOptions sweep = options;
  sweep.strategy = "calibrate";
  SweepJournal journal(store, sweep, device, gpu);
  MeasurePool worker(options.program, {device}, options.method, kDeadline);

  CalibrateSummary summary;
  const std::vector<CeilingNeed> plan = calibration_plan(options.method.name);
  CalibrateProgress progress;
  progress.total = static_cast<std::int64_t>(plan.size());
  for (const CeilingNeed& need : plan) {
    summary.stopped_early = should_stop();
    if (summary.stopped_early) break;
    progress.next = need;
    on_progress(progress);
    const Result<CeilingRecord> measured = request_ceiling(worker, ++progress.done, need);
    if (measured.ok()) {
      MGTUNE_ASSIGN(const std::int64_t id, journal.begin());
      MGTUNE_TRY(store.record_ceiling(id, gpu, *measured));
      summary.ceilings.push_back(*measured);
      continue;
    }
    const Status failure = measured.status();
    // A GPU that cannot be opened, say: the other ceilings would say the same.
    if (failure.code() == StatusCode::environment && summary.ceilings.empty()) return failure;
    if (failure.code() == StatusCode::unsupported) {
      summary.lacking.push_back(name_of(need) + ": " + failure.message());
    } else if (!should_stop()) {  // the worker may have been told to stop as well
      summary.failed.push_back(name_of(need) + ": " + failure.message());
    }
  }
  MGTUNE_TRY(journal.finish());
  summary.sweep_id = journal.id();
  return summary;
}

}  // namespace mgtune
