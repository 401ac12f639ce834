#include "calibration/calibrate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ceilings/ceiling.h"
#include "device/device_lock.h"
#include "selection/variant_selection.h"
#include "sweep/sweep_shared.h"
#include "system/utc_now.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMinBytes = 1 << 20;
constexpr std::int64_t kMaxBytes = 512 << 20;

// To measure a ceiling, about a dozen kernels are compiled and a dozen shapes are timed. Each takes
// less than a second.
constexpr std::chrono::seconds kDeadline{120};

std::string name_of(const CeilingNeed& need) {
  if (!is_memory_ceiling(need.kind)) return need.kind;
  return need.kind + " of " + std::to_string(need.bytes >> 20) + " MiB";
}

// First copies and reads of 1 MiB to 512 MiB, in powers of two, then all other ceilings.
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

// Operations per byte. With fewer operations than these, arithmetic limits no GPU since Turing: an
// H200 reaches its fp32 peak at 14 operations per byte and its tensor-core peak at 150; for a T4 it
// is 25 and 200.
constexpr double kFp32Intensity = 4;
constexpr double kTensorIntensity = 32;

// A GPU becomes slower when its memory wears out or its fans clog, but not within a month.
constexpr std::chrono::hours kFresh{30 * 24};

// The ceilings of one kind and method that the store has, measured with the same driver in the last
// 30 days.
Result<std::vector<CeilingRecord>> fresh_ceilings(Store& store, std::int64_t gpu,
                                                  const std::string& driver,
                                                  const std::string& kind,
                                                  const std::string& method) {
  const std::string oldest = utc_before_now(kFresh);
  MGTUNE_ASSIGN(const std::vector<CeilingView> ceilings, store.ceilings(gpu));
  std::vector<CeilingRecord> fresh;
  for (const CeilingView& view : ceilings) {
    const CeilingRecord& ceiling = view.ceiling;
    if (ceiling.kind == kind && ceiling.method == method && ceiling.rate > 0 &&
        view.driver == driver && ceiling.clocks.throttled_samples == 0 &&
        ceiling.measured_at >= oldest) {
      fresh.push_back(ceiling);
    }
  }
  return fresh;
}

// The ceiling of the store if it is fresh, otherwise a new measurement. 0 if the device has no such
// ceiling, or if the measurement failed; the sweep does not fail because of this.
Result<double> ceiling_rate(SweepShared& shared, const std::string& kind, std::int64_t bytes,
                            const TunedView& view) {
  const CeilingNeed need{kind, shared.options.method.name, bytes};
  MGTUNE_ASSIGN(const std::optional<CeilingRecord> known,
                find_fresh_ceiling(shared.store, shared.gpu_id, shared.device.driver, need));
  if (known.has_value()) return known->rate;
  const Result<CeilingRecord> measured =
      request_ceiling(shared.workers, shared.next_request++, need);
  if (measured.ok()) {
    MGTUNE_ASSIGN(const std::int64_t sweep, shared.journal.begin());
    MGTUNE_TRY(shared.store.record_ceiling(sweep, shared.gpu_id, *measured));
    return measured->rate;
  }
  if (!shared.should_stop() && measured.status().code() != StatusCode::unsupported) {
    shared.summary.skipped.push_back("the " + kind + " ceiling of " + view.problem + ": " +
                                     measured.status().message());
  }
  return 0.0;
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
    // For example, the GPU cannot be opened. The other ceilings would fail for the same reason.
    if (failure.code() == StatusCode::environment && summary.ceilings.empty()) return failure;
    if (failure.code() == StatusCode::unsupported) {
      summary.lacking.push_back(name_of(need) + ": " + failure.message());
    } else if (!should_stop()) {  // the stop signal may have ended the worker too
      summary.failed.push_back(name_of(need) + ": " + failure.message());
    }
  }
  MGTUNE_TRY(journal.finish());
  return summary;
}

Result<std::optional<CeilingRecord>> find_fresh_ceiling(Store& store, std::int64_t gpu,
                                                        const std::string& driver,
                                                        const CeilingNeed& need) {
  MGTUNE_ASSIGN(const std::vector<CeilingRecord> fresh,
                fresh_ceilings(store, gpu, driver, need.kind, need.method));
  const auto found = std::ranges::find(fresh, need.bytes, &CeilingRecord::bytes);
  if (found == fresh.end()) return std::optional<CeilingRecord>();
  return std::optional(*found);
}

Result<CopyTimes> fresh_copies(Store& store, std::int64_t gpu, const std::string& driver,
                               const std::string& method) {
  MGTUNE_ASSIGN(const std::vector<CeilingRecord> fresh,
                fresh_ceilings(store, gpu, driver, "copy", method));
  CopyTimes copies;
  for (const CeilingRecord& copy : fresh) copies.add(copy.bytes, copy.rate);
  return copies;
}

Result<CeilingRecord> request_ceiling(MeasurePool& workers, std::int64_t request_id,
                                      const CeilingNeed& need) {
  MGTUNE_ASSIGN(WorkReply reply,
                workers.measure({request_id, CeilingRequest{need.kind, need.bytes}}));
  if (reply.ceiling.has_value()) return *std::move(reply.ceiling);
  const bool has_unit = reply.outcome != Outcome::unsupported;
  return Status(has_unit ? StatusCode::launch_failed : StatusCode::unsupported, reply.message);
}

std::vector<std::string> arithmetic_ceilings_of(double operations_per_byte,
                                                const std::set<DType>& dtypes) {
  std::vector<std::string> kinds;
  for (const std::string& kind : ceiling_kinds()) {
    if (is_memory_ceiling(kind)) continue;
    if (kind == "fp32") {
      if (operations_per_byte >= kFp32Intensity) kinds.push_back(kind);
      continue;
    }
    const auto dtype = dtype_from_string(kind.substr(kind.find('_') + 1));  // "wgmma_bf16"
    if (operations_per_byte >= kTensorIntensity && dtype && dtypes.contains(*dtype)) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

Status measure_ceilings(SweepShared& shared, const Problem& problem, TunedView& view) {
  const auto bytes = static_cast<std::int64_t>(view.bytes);
  if (shared.device.kind == DeviceKind::cpu || bytes <= 0) return {};
  MGTUNE_ASSIGN(CopyTimes copies, fresh_copies(shared.store, shared.gpu_id, shared.device.driver,
                                               shared.options.method.name));
  if (copies.ns(bytes) == 0) {
    for (const std::int64_t size : CopyTimes::sizes_for(bytes)) {
      MGTUNE_ASSIGN(const double rate, ceiling_rate(shared, "copy", size, view));
      copies.add(size, rate);
    }
  }
  view.copy_ns = copies.ns(bytes);
  std::set<DType> dtypes;
  for (const Tensor& tensor : problem.op->tensors) {
    dtypes.insert(tensor.dtype.resolve(problem.slots));
  }
  for (const std::string& kind : arithmetic_ceilings_of(view.flops / view.bytes, dtypes)) {
    MGTUNE_TRY(ceiling_rate(shared, kind, 0, view).status());
  }
  return {};
}

}  // namespace mgtune
