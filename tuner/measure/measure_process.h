// MeasureProcess: one worker that measures or counts, and is waited for. One thread.

#pragma once

#include "core/status.h"
#include "worker/protocol.h"
#include "worker/worker_process.h"

namespace mgtune {

class MeasureProcess : public WorkerProcess {
 public:
  using WorkerProcess::WorkerProcess;

  // Blocks until the variant is done, crashed (its standard error in the message) or timed out. A
  // Status is what ends the sweep: invalid_argument for a reference that crashed or hung, what a
  // worker said of the machine (tried twice), environment when no worker can be started any more.
  Result<WorkReply> measure(const WorkRequest& request);
};

}  // namespace mgtune
