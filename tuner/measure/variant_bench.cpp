#include "measure/variant_bench.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "build/build_cache.h"
#include "system/file_system.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

VariantBench::VariantBench(std::unique_ptr<Device> device, WorkerChannel& channel)
    : channel_(channel),
      device_(std::move(device)),
      ahead_(device_->info()),
      builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())) {}

Result<std::unique_ptr<LoadedVariant>> VariantBench::prepare(const VariantRequest& request,
                                                             WorkReply& reply) {
  WorkItem item;
  WorkSeconds& seconds = reply.seconds.emplace();
  const auto begun = Clock::now();
  Build build;
  BuildRecord& record = reply.build.emplace();
  if (std::optional<BuildAhead::Found> found = ahead_.take(reply.id)) {
    item = std::move(found->item);
    record = std::move(found->record);
    build = std::move(found->build);
  } else {
    MGTUNE_ASSIGN(build, this->build(request, request.variant, item, record));
  }
  MGTUNE_ASSIGN(std::unique_ptr<LoadedVariant> variant, load(item, build));
  const auto loaded = Clock::now();
  seconds.load = std::chrono::duration<double>(loaded - begun).count();
  MGTUNE_ASSIGN(Checker* const checker, checker_for(request, reply.id, item.problem));
  MGTUNE_ASSIGN(reply.check, checker->check(*variant));
  seconds.check = std::chrono::duration<double>(Clock::now() - loaded).count();
  if (reply.check->outcome == Outcome::ok) return variant;
  reply.outcome = reply.check->outcome;
  reply.message = reply.check->message;
  return std::unique_ptr<LoadedVariant>();
}

Result<Build> VariantBench::build(const NamedProblem& request, const std::string& text,
                                  WorkItem& item, BuildRecord& record) {
  MGTUNE_ASSIGN(item, ahead_.bind(request, text));
  Result<Build> build = build_item(builder_, item, device_->info(), record);
  // A compile worker has made this build before. If it cannot be made here, we check whether the
  // compiler still works.
  if (build.status().code() == StatusCode::compile_failed) {
    MGTUNE_TRY(builder_.check_compiler(device_->info().arch));
  }
  return build;
}

Result<std::unique_ptr<LoadedVariant>> VariantBench::load(const WorkItem& item,
                                                          const Build& build) {
  Result<std::unique_ptr<LoadedVariant>> loaded =
      LoadedVariant::load(*device_, item.problem.binding(), item.variant, build);
  if (loaded.ok()) return loaded;
  return launch_failure(std::move(loaded).take_status());
}

void VariantBench::forget_problem() {
  checker_.reset();
  checked_problem_ = {};
  timed_.reset();
}

// A new checker costs a compile and two runs of the reference, so it is kept, and so is its
// failure.
Result<Checker*> VariantBench::checker_for(const NamedProblem& request, std::int64_t id,
                                           const Problem& problem) {
  if (request != checked_problem_) {
    forget_problem();  // frees its memory before the next problem takes memory
    MGTUNE_TRY(channel_.begin(id, WorkReply::Phase::reference, reference_text(*problem.op)));
    Result<std::unique_ptr<Checker>> made = Checker::make(*device_, builder_, problem);
    MGTUNE_TRY(channel_.begin(id));
    checked_problem_ = request;
    checker_failure_ = made.status();
    if (made.ok()) checker_ = std::move(*made);
  }
  if (!checker_failure_.ok()) return checker_failure_;
  return checker_.get();
}

Result<std::vector<std::unique_ptr<LoadedVariant>>> VariantBench::load_all(
    const NamedProblem& request, std::span<const std::string> variants, std::int64_t id) {
  std::vector<std::unique_ptr<LoadedVariant>> loaded;
  for (const std::string& text : variants) {
    WorkItem item;
    BuildRecord record;
    MGTUNE_ASSIGN(const Build build, this->build(request, text, item, record));
    MGTUNE_ASSIGN(std::unique_ptr<LoadedVariant> variant, load(item, build));
    loaded.push_back(std::move(variant));
    if (loaded.size() == 1) MGTUNE_TRY(checker_for(request, id, item.problem).status());
  }
  if (loaded.empty()) return invalid_argument("the request names no variants");
  return loaded;
}

Result<VariantBench::Launches> VariantBench::launches(
    std::span<const LoadedVariant* const> variants, bool turns_through_sets) {
  // The rotation is planned once per problem: later, the memory of the allocated sets would be
  // missing from the free memory.
  if (!timed_) {
    MGTUNE_ASSIGN(const BufferRotation rotation,
                  plan_buffer_rotation(*device_, checker_->set_bytes()));
    timed_ = timed_buffers(rotation, turns_through_sets);
  }
  MGTUNE_ASSIGN(auto arguments, checker_->launch_arguments(variants, timed_->own_sets));
  Launches launches;
  launches.buffer_sets = std::max<std::int64_t>(timed_->own_sets, 1);
  launches.note = timed_->note;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    launches.works.emplace_back([of_variant = std::move(arguments[i]), variant = variants[i]](
                                    std::int64_t turn, Stream stream) mutable {
      LaunchArguments& launch = of_variant[static_cast<std::size_t>(turn) % of_variant.size()];
      launch.stream = stream;
      return variant->launch(launch);
    });
  }
  return launches;
}

}  // namespace mgtune
