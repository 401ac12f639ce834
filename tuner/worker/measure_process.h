// MeasureProcess: the one worker of a device, that measures or counts, and that can be waited for.

#pragma once

#include "core/status.h"
#include "worker/protocol.h"
#include "worker/worker_process.h"

namespace mgtune {

class MeasureProcess : public WorkerProcess {
 public:
  using WorkerProcess::WorkerProcess;

  // submit(), and blocks until poll() has what came of it. When idle.
  Result<WorkReply> measure(const WorkRequest& request);
};

}  // namespace mgtune
