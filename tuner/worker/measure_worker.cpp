#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "build/build_cache.h"
#include "ceilings/ceiling.h"
#include "check/checker.h"
#include "core/file_system.h"
#include "core/utc_now.h"
#include "device/registry.h"
#include "dispatch/loaded_variant.h"
#include "timing/buffer_rotation.h"
#include "timing/gpu_timer.h"
#include "timing/statistics.h"
#include "timing/timer.h"
#include "worker/work_item.h"
#include "worker/worker.h"
#include "worker/worker_channel.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

Result<std::unique_ptr<Timer>> make_timer(Device& device, const TimingMethod& method) {
  if (device.info().kind == DeviceKind::cpu) return make_emulation_timer();
  return make_gpu_timer(device, method);
}

ClockRecord clock_record(const ClockSummary& clocks) {
  return {clocks.sm_mhz,
          clocks.memory_mhz,
          clocks.power_w,
          clocks.temperature_c,
          throttle_text(clocks.reasons),
          clocks.throttled_samples};
}

// Launches the variant on its sets of buffers in turn. Both outlive the work.
TimedWork timed_work(const LoadedVariant& variant, std::vector<LaunchArguments>& sets) {
  return [&variant, &sets](std::int64_t turn, Stream stream) {
    LaunchArguments& launch = sets[static_cast<std::size_t>(turn) % sets.size()];
    launch.stream = stream;
    return variant.launch(launch);
  };
}

// Keeps what consecutive requests share: families, device, compiler, and the last problem's
// checker.
class MeasureWorker {
 public:
  MeasureWorker(std::unique_ptr<Device> device, std::unique_ptr<Timer> timer,
                WorkerChannel& channel)
      : channel_(channel),
        catalog_(FileSystem::real()),
        device_(std::move(device)),
        timer_(std::move(timer)),
        builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())) {}

  // The Status is the device's, when nothing more can run on it; the reply is complete either way.
  Status handle(const WorkRequest& request, WorkReply& reply) {
    reply.id = request.id;
    Status status = answer(request, reply);
    if (status.ok()) return {};
    put_failure(status, reply);
    return status.code() == StatusCode::device_lost ? std::move(status) : Status();
  }

 private:
  Status answer(const WorkRequest& request, WorkReply& reply) {
    if (request.kind == WorkRequest::Kind::ceiling) return measure_ceiling(request, reply);
    if (request.kind == WorkRequest::Kind::final) return measure_final(request, reply);
    return measure(request, reply);
  }

  Status measure(const WorkRequest& request, WorkReply& reply) {
    MGTUNE_ASSIGN(const WorkItem item, bind_request(catalog_, request));
    MGTUNE_ASSIGN(const Build build,
                  build_item(builder_, item, device_->info(), reply.build.emplace()));
    MGTUNE_ASSIGN(const std::unique_ptr<LoadedVariant> variant, load_item(*device_, item, build));
    MGTUNE_ASSIGN(Checker* const checker, checker_of(request, item.problem));
    MGTUNE_ASSIGN(reply.check, checker->check(*variant));
    if (reply.check->outcome != Outcome::ok) {
      reply.outcome = reply.check->outcome;
      reply.message = reply.check->message;
      return {};
    }
    MGTUNE_ASSIGN(reply.measurement, time(*checker, *variant, request.stop_above_ns));
    reply.outcome = reply.measurement->outcome;
    reply.message = reply.measurement->message;
    return {};
  }

  // The variants passed their check before; their builds come from the cache. Each is loaded for
  // itself, also where it stands twice.
  Status measure_final(WorkRequest request, WorkReply& reply) {
    std::vector<std::unique_ptr<LoadedVariant>> loaded;
    std::vector<const LoadedVariant*> variants;
    std::optional<Problem> problem;
    for (const std::string& text : request.variants) {
      request.variant = text;
      MGTUNE_ASSIGN(WorkItem item, bind_request(catalog_, request));
      BuildRecord build_record;
      MGTUNE_ASSIGN(const Build build, build_item(builder_, item, device_->info(), build_record));
      MGTUNE_ASSIGN(std::unique_ptr<LoadedVariant> variant, load_item(*device_, item, build));
      variants.push_back(variant.get());
      loaded.push_back(std::move(variant));
      problem = std::move(item.problem);
    }
    if (!problem) return invalid_argument("a final of no variants");
    MGTUNE_ASSIGN(Checker* const checker, checker_of(request, *problem));
    MGTUNE_ASSIGN(const std::int64_t sets, buffer_sets(*checker));
    MGTUNE_ASSIGN(auto arguments, checker->launch_arguments(variants, sets));
    std::vector<TimedWork> works;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      works.push_back(timed_work(*variants[i], arguments[i]));
    }
    TurnBudget budget;
    budget.buffer_sets = sets;
    if (device_->info().kind ==
        DeviceKind::cpu) {  // its times say nothing: as little as shows it works
      budget.min_rounds = 3;
      budget.max_seconds = 0.1;
    }
    MGTUNE_ASSIGN(TurnTiming timing, timer_->time_in_turn(works, budget));
    reply.final = {std::move(timing.samples_ns), timing.note, clock_record(timing.clocks)};
    return {};
  }

  Status measure_ceiling(const WorkRequest& request, WorkReply& reply) {
    forget_problem();  // the ceilings want the memory
    MGTUNE_ASSIGN(
        const MeasuredCeiling measured,
        mgtune::measure_ceiling(*device_, builder_, *timer_, request.ceiling, request.bytes));
    CeilingRecord& ceiling = reply.ceiling.emplace();
    ceiling.kind = request.ceiling;
    ceiling.method = timer_->method();
    ceiling.bytes = is_memory_ceiling(request.ceiling) ? request.bytes : 0;
    ceiling.rate = measured.rate;
    ceiling.measured_at = utc_now();
    ceiling.clocks = clock_record(measured.clocks);
    return {};
  }

  void forget_problem() {
    checker_.reset();
    checker_key_.clear();
    rotation_.reset();
  }

  // Making one costs a compile and two runs of the reference; a failure is remembered likewise.
  Result<Checker*> checker_of(const WorkRequest& request, const Problem& problem) {
    std::string key = request.kernel + '\n' + request.op + '\n' + request.problem;
    if (key != checker_key_) {
      forget_problem();  // its memory goes before the next one's is taken
      MGTUNE_TRY(channel_.begin(request, WorkReply::Phase::reference, reference_text(*problem.op)));
      Result<std::unique_ptr<Checker>> made = Checker::make(*device_, builder_, problem);
      MGTUNE_TRY(channel_.begin(request));
      checker_key_ = std::move(key);
      checker_failure_ = made.status();
      if (made.ok()) checker_ = std::move(*made);
    }
    if (!checker_failure_.ok()) return checker_failure_;
    return checker_.get();
  }

  Result<MeasurementRecord> time(Checker& checker, const LoadedVariant& variant,
                                 double stop_above_ns) {
    MGTUNE_ASSIGN(const std::int64_t sets, buffer_sets(checker));
    MGTUNE_ASSIGN(auto arguments, checker.launch_arguments(std::array{&variant}, sets));
    const TimedWork work = timed_work(variant, arguments.front());
    TimingBudget budget;
    budget.stop_above_ns = stop_above_ns;
    budget.buffer_sets = sets;
    MeasurementRecord record;
    record.method = timer_->method();
    const Result<Timing> timing = timer_->time(work, budget);
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
    record.clocks = clock_record(timing->clocks);
    for (const std::string& note : {rotation_->note, timing->note}) {
      if (!note.empty()) record.note += (record.note.empty() ? "" : "; ") + note;
    }
    return record;
  }

  // Planned once a problem: the sets that are allocated then are no longer free memory.
  Result<std::int64_t> buffer_sets(const Checker& checker) {
    if (!rotation_) {
      MGTUNE_ASSIGN(rotation_, plan_buffer_rotation(*device_, checker.set_bytes()));
    }
    return rotation_->sets;
  }

  WorkerChannel& channel_;
  Catalog catalog_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Timer> timer_;
  Builder builder_;
  std::string checker_key_;
  Status checker_failure_;
  std::unique_ptr<Checker> checker_;        // after all that it uses
  std::optional<BufferRotation> rotation_;  // of the checker's problem
};

}  // namespace

Status run_measure_worker(const std::string& device_id, const TimingMethod& method) {
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  MGTUNE_ASSIGN(std::unique_ptr<Device> device, open_device(device_id));
  MGTUNE_ASSIGN(std::unique_ptr<Timer> timer, make_timer(*device, method));
  MeasureWorker worker(std::move(device), std::move(timer), channel);
  while (true) {
    MGTUNE_ASSIGN(const std::optional<WorkRequest> request, channel.next_request());
    if (!request) return {};
    MGTUNE_TRY(channel.begin(*request));
    WorkReply reply;
    const Status device_status = worker.handle(*request, reply);
    MGTUNE_TRY(channel.send(reply));
    MGTUNE_TRY(Status(device_status));
  }
}

}  // namespace mgtune
