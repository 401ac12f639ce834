// VariantBench: a worker's device with what measuring and counting share: a request's variant
// built, loaded and checked, and rotating buffers to launch it on. Keeps what consecutive requests
// have in common: families, builds, and the last problem's checker. One thread.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "build/builder.h"
#include "check/checker.h"
#include "core/status.h"
#include "device/device.h"
#include "dispatch/loaded_variant.h"
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

  struct Launches {
    TimedWork work;  // until the next prepare(), and as long as the variant
    std::int64_t buffer_sets = 1;
    std::string note;  // "" or why they do not fill the L2 cache three times
  };
  // Of the variant that prepare() gave last.
  Result<Launches> launches(const LoadedVariant& variant);

  void forget_problem();  // and its memory

 private:
  Result<Checker*> checker_of(const WorkRequest& request, const Problem& problem);

  WorkerChannel& channel_;
  Catalog catalog_;
  std::unique_ptr<Device> device_;
  Builder builder_;
  std::string checker_key_;
  Status checker_failure_;
  std::unique_ptr<Checker> checker_;        // after all that it uses
  std::optional<BufferRotation> rotation_;  // of the checker's problem
};

}  // namespace mgtune
