// MeasureProcess: the parent's side of one measure worker. A worker that crashes or passes its
// deadline is killed and started anew; what happened becomes that variant's outcome.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "worker/child_process.h"
#include "worker/protocol.h"

namespace mgtune {

class MeasureProcess {
 public:
  // `command` starts a worker, e.g. {"/usr/bin/mgtune", "worker", "measure", "cpu"}.
  MeasureProcess(std::vector<std::string> command, std::chrono::milliseconds deadline);

  // Blocks until the variant is done, crashed (its standard error in the message) or timed out. A
  // Status only when no worker can be started any more.
  Result<WorkReply> measure(const WorkRequest& request);

  std::int64_t restarts() const { return restarts_; }

 private:
  std::vector<std::string> command_;
  std::chrono::milliseconds deadline_;
  std::optional<ChildProcess> child_;
  std::int64_t restarts_ = 0;
};

}  // namespace mgtune
