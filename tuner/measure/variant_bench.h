// VariantBench: a worker's device with what measuring and counting share: a request's variant
// built, loaded and checked, and rotating buffers to launch it on. Keeps what consecutive requests
// have in common: families, builds, and the last problem's checker. One thread.

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
#include "family/catalog.h"
#include "timing/buffer_rotation.h"
#include "timing/timer.h"
#include "worker/protocol.h"
#include "worker/worker_channel.h"

namespace mgtune {

class VariantBench {
 public:
  VariantBench(std::unique_ptr<Device> device, WorkerChannel& channel);  // the channel outlives it

  Device& device() { return *device_; }
  Builder& builder() { return builder_; }

  // The request's variant, checked; what came of it stands in the reply. Null when the check did
  // not pass: then the reply is complete.
  Result<std::unique_ptr<LoadedVariant>> prepare(const WorkRequest& request, WorkReply& reply);

  // The request's variants, which passed their check before: their builds come from the cache. Each
  // is loaded for itself, also where one stands twice. invalid_argument for none.
  Result<std::vector<std::unique_ptr<LoadedVariant>>> load_all(const WorkRequest& request);

  struct Launches {
    std::vector<TimedWork> works;  // one a variant
    std::int64_t buffer_sets = 1;
    std::string note;  // "" or why they do not fill the L2 cache three times
  };
  // Of the variants that prepare() or load_all() gave last; until either is called again, and as
  // long as the variants. Over as many buffer sets as keep them out of the L2 cache, or over one;
  // of the same method in every call for a problem.
  Result<Launches> launches(std::span<const LoadedVariant* const> variants,
                            bool turns_through_sets = true);

  void forget_problem();  // and its memory

 private:
  Result<Checker*> checker_of(const WorkRequest& request, const Problem& problem);

  WorkerChannel& channel_;
  Catalog catalog_;
  std::unique_ptr<Device> device_;
  Builder builder_;
  std::string checker_key_;
  Status checker_failure_;
  std::unique_ptr<Checker> checker_;   // after all that it uses
  std::optional<TimedBuffers> timed_;  // of the checker's problem
};

}  // namespace mgtune
