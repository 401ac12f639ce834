#include "measure/variant_bench.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "build/build_cache.h"
#include "system/file_system.h"
#include "worker/work_item.h"

namespace mgtune {

VariantBench::VariantBench(std::unique_ptr<Device> device, WorkerChannel& channel)
    : channel_(channel),
      catalog_(FileSystem::real()),
      device_(std::move(device)),
      builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())) {}

Result<std::unique_ptr<LoadedVariant>> VariantBench::prepare(const WorkRequest& request,
                                                             WorkReply& reply) {
  MGTUNE_ASSIGN(const WorkItem item, bind_request(catalog_, request));
  MGTUNE_ASSIGN(const Build build,
                build_item(builder_, item, device_->info(), reply.build.emplace()));
  MGTUNE_ASSIGN(std::unique_ptr<LoadedVariant> variant, load_item(*device_, item, build));
  MGTUNE_ASSIGN(Checker* const checker, checker_of(request, item.problem));
  MGTUNE_ASSIGN(reply.check, checker->check(*variant));
  if (reply.check->outcome == Outcome::ok) return variant;
  reply.outcome = reply.check->outcome;
  reply.message = reply.check->message;
  return std::unique_ptr<LoadedVariant>();
}

void VariantBench::forget_problem() {
  checker_.reset();
  checker_key_.clear();
  timed_.reset();
}

// Making one costs a compile and two runs of the reference; a failure is remembered likewise.
Result<Checker*> VariantBench::checker_of(const WorkRequest& request, const Problem& problem) {
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

Result<std::vector<std::unique_ptr<LoadedVariant>>> VariantBench::load_all(
    const WorkRequest& request) {
  std::vector<std::unique_ptr<LoadedVariant>> loaded;
  WorkRequest one = request;
  for (const std::string& text : request.variants) {
    one.variant = text;
    MGTUNE_ASSIGN(const WorkItem item, bind_request(catalog_, one));
    BuildRecord record;
    MGTUNE_ASSIGN(const Build build, build_item(builder_, item, device_->info(), record));
    MGTUNE_ASSIGN(std::unique_ptr<LoadedVariant> variant, load_item(*device_, item, build));
    loaded.push_back(std::move(variant));
    if (loaded.size() == 1) MGTUNE_TRY(checker_of(request, item.problem).status());
  }
  if (loaded.empty()) return invalid_argument("a request of no variants");
  return loaded;
}

Result<VariantBench::Launches> VariantBench::launches(
    std::span<const LoadedVariant* const> variants, bool turns_through_sets) {
  // Planned once a problem: the sets that are allocated then are no longer free memory.
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
