// VariantBench: a worker's device, and the steps that measuring and counting have in common. It
// builds, loads and checks the variant of a request, and launches it on rotating buffers. It keeps
// the families, the builds and the checker of the last problem for the next request. One thread,
// but another thread may call look_ahead().

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "build/builder.h"
#include "check/checker.h"
#include "core/status.h"
#include "device/device.h"
#include "launch/loaded_variant.h"
#include "measure/build_ahead.h"
#include "timing/buffer_rotation.h"
#include "timing/timer.h"
#include "worker/protocol.h"
#include "worker/work_item.h"
#include "worker/worker_channel.h"

namespace mgtune {

class VariantBench {
 public:
  // `channel` must outlive the object.
  VariantBench(std::unique_ptr<Device> device, WorkerChannel& channel);

  Device& device() { return *device_; }
  Builder& builder() { return builder_; }

  // Reads the build of a request that will come next, if the cache has it.
  void look_ahead(std::int64_t id, const VariantRequest& request) { ahead_.look(id, request); }

  // The request's variant after its check; the results are written to the reply. Null if the check
  // failed; the reply is then complete.
  Result<std::unique_ptr<LoadedVariant>> prepare(const VariantRequest& request, WorkReply& reply);

  // Loads all variants of a request with this id. They have passed their checks before, so their
  // builds are in the build cache. A variant that is named twice is loaded twice. invalid_argument
  // if the request names no variant.
  Result<std::vector<std::unique_ptr<LoadedVariant>>> load_all(
      const NamedProblem& request, std::span<const std::string> variants, std::int64_t id);

  struct Launches {
    std::vector<TimedWork> works;  // one per variant
    std::int64_t buffer_sets = 1;
    std::string note;  // "", or why the sets do not fill the L2 cache three times
  };
  // The launches of `variants`, which the last call of prepare() or load_all() returned. They are
  // valid until one of these functions is called again, and only as long as the variants exist. The
  // launches rotate through enough sets of buffers that their data is not in the L2 cache. If
  // `turns_through_sets` is false, they use one set. The argument must be the same in all calls for
  // one problem.
  Result<Launches> launches(std::span<const LoadedVariant* const> variants,
                            bool turns_through_sets = true);

  void forget_problem();  // frees its memory

 private:
  // The request's variant and its build, with `record` as for build_item().
  Result<Build> build(const NamedProblem& request, const std::string& text, WorkItem& item,
                      BuildRecord& record);
  // Loads the build of a variant. A mistake in the
  // variant's own expressions, for example a division by zero in a block's extent, is
  // launch_failed: the request itself was correct.
  Result<std::unique_ptr<LoadedVariant>> load(const WorkItem& item, const Build& build);
  Result<Checker*> checker_for(const NamedProblem& request, std::int64_t id,
                               const Problem& problem);

  WorkerChannel& channel_;
  std::unique_ptr<Device> device_;
  BuildAhead ahead_;
  Builder builder_;
  NamedProblem checked_problem_;  // the problem of checker_
  Status checker_failure_;
  std::unique_ptr<Checker> checker_;   // declared after all members that it uses
  std::optional<TimedBuffers> timed_;  // for the checker's problem
};

}  // namespace mgtune
