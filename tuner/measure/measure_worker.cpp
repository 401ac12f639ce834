#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ceilings/ceiling.h"
#include "device/registry.h"
#include "energy/energy_counter.h"
#include "energy/energy_timing.h"
#include "measure/health_check.h"
#include "measure/variant_bench.h"
#include "timing/gpu_timer.h"
#include "timing/statistics.h"
#include "timing/timer.h"
#include "worker/worker.h"
#include "worker/worker_channel.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

Result<std::unique_ptr<Timer>> make_timer(Device& device, Builder& builder,
                                          const TimingMethod& method) {
  if (device.info().kind == DeviceKind::cpu) return make_emulation_timer();
  return make_gpu_timer(device, builder, method);
}

std::string joined_notes(const std::string& a, const std::string& b) {
  return a + (a.empty() || b.empty() ? "" : "; ") + b;
}

class MeasureWorker {
 public:
  MeasureWorker(VariantBench& bench, std::unique_ptr<Timer> timer)
      : bench_(bench), timer_(std::move(timer)) {}

  Status handle(const MeasureRequest& request, WorkReply& reply) {
    MGTUNE_ASSIGN(measured_, bench_.prepare(request, reply));
    if (measured_ == nullptr) return {};
    const auto begun = std::chrono::steady_clock::now();
    MGTUNE_ASSIGN(reply.measurement, time(*measured_, request));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    reply.seconds->measure = taken.count();
    reply.outcome = reply.measurement->outcome;
    reply.message = reply.measurement->message;
    return {};
  }

  Status handle(const FinalRequest& request, WorkReply& reply) {
    MGTUNE_ASSIGN(const auto loaded, bench_.load_all(request, request.variants, reply.id));
    MGTUNE_ASSIGN(const VariantBench::Launches launches, launches_of(loaded));
    TurnBudget budget = TurnBudget::of_final(request.settle_seconds);
    budget.buffer_sets = launches.buffer_sets;
    if (bench_.device().info().kind == DeviceKind::cpu) {
      // Times of the cpu device say nothing about a GPU, so a short run, which shows that the code
      // works, is enough.
      budget.min_rounds = 3;
      budget.max_seconds = 0.1;
    }
    MGTUNE_ASSIGN(reply.final, timer_->time_in_turn(launches.works, budget));
    reply.final->note = joined_notes(launches.note, reply.final->note);
    return {};
  }

  Status handle(const EnergyRequest& request, WorkReply& reply) {
    MGTUNE_ASSIGN(const std::unique_ptr<EnergyCounter> counter,
                  open_energy_counter(bench_.device().info().id));
    MGTUNE_ASSIGN(const auto loaded, bench_.load_all(request, request.variants, reply.id));
    MGTUNE_ASSIGN(const VariantBench::Launches launches, launches_of(loaded));
    std::vector<EnergyWork> works;
    for (const TimedWork& work : launches.works) {
      works.emplace_back([this, &work, turn = std::int64_t{0}](std::int64_t count) mutable {
        for (std::int64_t i = 0; i < count; ++i) MGTUNE_TRY(work(turn++, nullptr));
        return bench_.device().synchronize(nullptr);
      });
    }
    MGTUNE_ASSIGN(reply.energy, measure_energy(*counter, works, EnergyBudget{}));
    return {};
  }

  Status handle(const CeilingRequest& request, WorkReply& reply) {
    bench_.forget_problem();  // the ceilings need the memory
    MGTUNE_ASSIGN(reply.ceiling, measure_ceiling(bench_.device(), bench_.builder(), *timer_,
                                                 request.ceiling, request.bytes));
    return {};
  }

  Status handle(const ProbeRequest&, WorkReply&) {
    return check_health(bench_.device(), bench_.builder());
  }

  // Called on another thread, while the previous request is in progress.
  void look_ahead(const WorkRequest& request) {
    const auto* measure = std::get_if<MeasureRequest>(&request.work);
    if (measure != nullptr) bench_.look_ahead(request.id, *measure);
  }

  // The driver needs some tenths of a millisecond to unload a build. Meanwhile the parent can use
  // the reply and send the next request.
  void tidy_up() { measured_.reset(); }

 private:
  Result<VariantBench::Launches> launches_of(
      const std::vector<std::unique_ptr<LoadedVariant>>& loaded) {
    std::vector<const LoadedVariant*> variants;
    variants.reserve(loaded.size());
    for (const std::unique_ptr<LoadedVariant>& variant : loaded) variants.push_back(variant.get());
    return bench_.launches(variants, turns_through_sets(timer_->method()));
  }

  Result<MeasurementRecord> time(const LoadedVariant& variant, const MeasureRequest& request) {
    MGTUNE_ASSIGN(const VariantBench::Launches launches,
                  bench_.launches(std::array<const LoadedVariant*, 1>{&variant},
                                  turns_through_sets(timer_->method())));
    TimingBudget budget;
    budget.stop_above_ns = request.stop_above_ns;
    budget.stop_above_mhz = request.stop_above_mhz;
    budget.buffer_sets = launches.buffer_sets;
    MeasurementRecord record;
    record.method = timer_->method();
    const Result<Timing> timing = timer_->time(launches.works.front(), budget);
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
    record.clocks = timing->clocks;
    record.note = joined_notes(launches.note, timing->note);
    return record;
  }

  VariantBench& bench_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<LoadedVariant> measured_;  // until the reply is sent
};

}  // namespace

Status run_measure_worker(const std::string& device_id, const TimingMethod& method) {
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  MGTUNE_ASSIGN(std::unique_ptr<Device> device, open_device(device_id));
  VariantBench bench(std::move(device), channel);
  MGTUNE_TRY(check_health(bench.device(), bench.builder()));
  MGTUNE_ASSIGN(std::unique_ptr<Timer> timer, make_timer(bench.device(), bench.builder(), method));
  MeasureWorker worker(bench, std::move(timer));
  return channel.serve(worker);
}

}  // namespace mgtune
