#include "debug/single_run.h"

#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "build/build_cache.h"
#include "build/builder.h"
#include "check/checker.h"
#include "debug/quiet_output.h"
#include "device/registry.h"
#include "launch/loaded_variant.h"
#include "system/file_system.h"
#include "timing/gpu_timer.h"
#include "timing/statistics.h"
#include "timing/timer.h"
#include "worker/work_item.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

// Builds, launches, checks and times one variant on one device.
class VariantRun {
 public:
  VariantRun(Device& device, Builder& builder, const Problem& problem, const Variant& variant)
      : device_(device), builder_(builder), problem_(problem), variant_(variant) {}

  Result<SingleRun> run(Builder& variant_builder, RunSteps steps) {
    const Result<Build> build = build_variant(variant_builder);
    if (!build.ok()) return failed(build.status());
    Result<std::unique_ptr<LoadedVariant>> loaded =
        LoadedVariant::load(device_, problem_.binding(), variant_, *build);
    if (!loaded.ok()) return failed(launch_failure(std::move(loaded).take_status()));
    MGTUNE_ASSIGN(const std::unique_ptr<Checker> checker,
                  Checker::make(device_, builder_, problem_));
    MGTUNE_ASSIGN(Checker::LaunchReport first, checker->launch_once(**loaded));
    std::fflush(stdout);
    run_.outcome = first.outcome;
    run_.message = std::move(first.message);
    run_.outputs = std::move(first.outputs);
    if (steps == RunSteps::launch_only || run_.outputs.empty()) return std::move(run_);
    MGTUNE_ASSIGN(const QuietOutput quiet, QuietOutput::begin());
    MGTUNE_ASSIGN(CheckRecord check, checker->check(**loaded));
    run_.outcome = check.outcome;
    run_.message = std::move(check.message);
    if (run_.outcome == Outcome::ok) MGTUNE_TRY(time(**loaded, *checker));
    return std::move(run_);
  }

 private:
  Result<Build> build_variant(Builder& builder) {
    WorkItem item{problem_, variant_};
    BuildRecord record;
    Result<Build> build = build_item(builder, item, device_.info(), record);
    run_.compiler_output = record.message;
    return build;
  }

  // A failure that says nothing about the variant stays a Status.
  Result<SingleRun> failed(const Status& failure) {
    const std::optional<Outcome> outcome = outcome_of(failure);
    if (!outcome) return failure;
    run_.outcome = *outcome;
    run_.message = failure.message();
    return std::move(run_);
  }

  Status time(const LoadedVariant& variant, Checker& checker) {
    const bool is_cpu = device_.info().kind == DeviceKind::cpu;
    Result<std::unique_ptr<Timer>> timer =
        is_cpu ? make_emulation_timer() : make_gpu_timer(device_, builder_, {"hot", ""});
    if (!timer.ok()) return std::move(timer).take_status();
    constexpr std::int64_t kTensorsOfTheCheck = 0;
    MGTUNE_ASSIGN(auto arguments,
                  checker.launch_arguments(std::array<const LoadedVariant*, 1>{&variant},
                                           kTensorsOfTheCheck));
    LaunchArguments& launch = arguments.front().front();
    const TimedWork work = [&](std::int64_t /*turn*/, Stream stream) {
      launch.stream = stream;
      return variant.launch(launch);
    };
    MGTUNE_ASSIGN(const Timing timing, (*timer)->time(work, TimingBudget{}));
    const SampleSummary summary = summarise(timing.samples_ns);
    run_.method = (*timer)->method();
    run_.time_ns = summary.median;
    run_.launches_timed = summary.count;
    return {};
  }

  Device& device_;
  Builder& builder_;  // of the reference and the kernels that mgtune itself needs
  const Problem& problem_;
  const Variant& variant_;
  SingleRun run_;
};

}  // namespace

Result<SingleRun> run_variant(const std::string& device_id, const Problem& problem,
                              const Variant& variant, DebugInfo debug, RunSteps steps) {
  MGTUNE_ASSIGN(const std::unique_ptr<Device> device, open_device(device_id));
  const BuildCache cache(FileSystem::real(), BuildCache::default_directory());
  Builder builder(cache);
  Builder with_debug_info(
      cache, [debug](const std::string& arch) { return make_debug_compiler(arch, debug); });
  return VariantRun(*device, builder, problem, variant)
      .run(debug == DebugInfo::none ? builder : with_debug_info, steps);
}

}  // namespace mgtune
