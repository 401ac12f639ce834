#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ceilings/copy_ceiling.h"
#include "check/checker.h"
#include "core/utc_now.h"
#include "device/registry.h"
#include "timing/gpu_timer.h"
#include "timing/statistics.h"
#include "timing/timer.h"
#include "worker/variant_bench.h"
#include "worker/worker.h"
#include "worker/worker_channel.h"
#include "worker/worker_loop.h"

namespace mgtune {
namespace {

Result<std::unique_ptr<Timer>> make_timer(Device& device, const TimingMethod& method) {
  if (device.info().kind == DeviceKind::cpu) return make_emulation_timer();
  return make_gpu_timer(device, method);
}

class MeasureWorker {
 public:
  MeasureWorker(std::unique_ptr<Device> device, std::unique_ptr<Timer> timer,
                WorkerChannel& channel)
      : bench_(std::move(device), channel), timer_(std::move(timer)) {}

  Status handle(const WorkRequest& request, WorkReply& reply) {
    const bool is_ceiling = request.kind == WorkRequest::Kind::ceiling;
    return is_ceiling ? measure_ceiling(request, reply) : measure(request, reply);
  }

 private:
  Status measure(const WorkRequest& request, WorkReply& reply) {
    MGTUNE_ASSIGN(const std::unique_ptr<LoadedVariant> variant, bench_.prepare(request, reply));
    if (variant == nullptr) return {};
    MGTUNE_ASSIGN(reply.measurement, time(*variant, request.stop_above_ns));
    reply.outcome = reply.measurement->outcome;
    reply.message = reply.measurement->message;
    return {};
  }

  Status measure_ceiling(const WorkRequest& request, WorkReply& reply) {
    bench_.forget_problem();  // the copies want the memory
    MGTUNE_ASSIGN(const double copy,
                  copy_ns(bench_.device(), bench_.builder(), *timer_, request.bytes));
    CeilingRecord& ceiling = reply.ceiling.emplace();
    ceiling.kind = "copy";
    ceiling.method = timer_->method();
    ceiling.bytes = request.bytes;
    ceiling.rate = static_cast<double>(request.bytes) / copy * 1e9;
    ceiling.measured_at = utc_now();
    return {};
  }

  Result<MeasurementRecord> time(const LoadedVariant& variant, double stop_above_ns) {
    MGTUNE_ASSIGN(const VariantBench::Launches launches, bench_.launches(variant));
    TimingBudget budget;
    budget.stop_above_ns = stop_above_ns;
    budget.buffer_sets = launches.buffer_sets;
    MeasurementRecord record;
    record.method = timer_->method();
    const Result<Timing> timing = timer_->time(launches.work, budget);
    if (!timing.ok()) {
      const std::optional<Outcome> outcome = outcome_of(timing.status());
      if (!outcome || timing.status().code() == StatusCode::device_lost) return timing.status();
      record.outcome = *outcome;
      record.message = timing.status().message();
      return record;
    }
    const SampleSummary summary = summarise(timing->samples_ns);
    record.outcome = timing->censored ? Outcome::raced_out : Outcome::ok;
    record.median_ns = summary.median;
    record.q1_ns = summary.q1;
    record.q3_ns = summary.q3;
    record.min_ns = summary.min;
    record.samples = summary.count;
    record.median_low_ns = summary.median_low;
    record.median_high_ns = summary.median_high;
    for (const std::string& note : {launches.note, timing->note}) {
      if (!note.empty()) record.note += (record.note.empty() ? "" : "; ") + note;
    }
    return record;
  }

  VariantBench bench_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace

Status run_measure_worker(const std::string& device_id, const TimingMethod& method) {
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  MGTUNE_ASSIGN(std::unique_ptr<Device> device, open_device(device_id));
  MGTUNE_ASSIGN(std::unique_ptr<Timer> timer, make_timer(*device, method));
  MeasureWorker worker(std::move(device), std::move(timer), channel);
  return serve_requests(channel, [&worker](const WorkRequest& request, WorkReply& reply) {
    return worker.handle(request, reply);
  });
}

}  // namespace mgtune
