// The loop of every worker: a request, `begin`, the work, its reply, until the parent closes its
// end. One thread.

#pragma once

#include <functional>

#include "core/status.h"
#include "worker/worker_channel.h"

namespace mgtune {

// Does what a request asks for and puts it into the reply. Its Status is a failure, which becomes
// the reply (worker_failure.h); one that takes the device with it ends the loop after that.
using Work = std::function<Status(const WorkRequest&, WorkReply&)>;

Status serve_requests(WorkerChannel& channel, const Work& work);

}  // namespace mgtune
